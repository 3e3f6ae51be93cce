import type { Shape } from '../../api/client.ts';

export type Rate = Shape<'Rate'>;

/** Rates as a form has them: `tpm 100000 claude-opus-*`, several separated by semicolons; without models a rate counts all. */
export function toRateText(rates: readonly Rate[]): string {
  return rates
    .map(({ window, limit, models }) => [window, limit, models].filter((part) => part !== ''))
    .map((parts) => parts.join(' '))
    .join('; ');
}

/** Reads such a text; the server judges the values. A rate that was there keeps whether it counts what was read from a cache. */
export function readRateText(text: string, was: readonly Rate[] = []): Rate[] {
  return text
    .split(';')
    .map((part) => part.trim().split(/\s+/))
    .filter(([window]) => window !== '')
    .map(([window = '', limit = '', ...globs]) => {
      const rate = {
        window: window as Rate['window'],
        limit: Number(limit),
        models: globs.join(''),
      };
      const known = was.find((one) => one.window === rate.window && one.models === rate.models);
      return { ...rate, counts_cache_reads: known?.counts_cache_reads ?? true };
    });
}
