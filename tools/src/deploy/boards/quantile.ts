/** Writes PromQL of a quantile of a histogram; `by` is a further label to keep. */
export function quantile(share: number, histogram: string, by?: string): string {
  const labels = by === undefined ? 'le' : `le, ${by}`;
  return `histogram_quantile(${share}, sum by (${labels}) (rate(${histogram}_bucket[$__rate_interval])))`;
}
