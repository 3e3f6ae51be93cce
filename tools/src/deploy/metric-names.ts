/** Returns every metric that a text of PromQL names: ours, the conventions' and those of the process. Series of histograms count as their histogram. */
export function metricsNamedIn(text: string): Set<string> {
  const names =
    text.match(/\b(?:tollgate|gen_ai|http_server|nodejs|process)_[a-z0-9_]+\b(?!\s*=)/g) ?? [];
  return new Set(
    names
      .map((name) => name.replace(/_(?:bucket|count|sum)$/, ''))
      .filter((name) => !LABELS.has(name)),
  );
}

/** Lists labels that begin like metrics. */
const LABELS = new Set(['gen_ai_request_model', 'gen_ai_token_type', 'gen_ai_operation_name']);

/** Returns the metrics that docs/metrics.md lists; specs compare it with what the processes export. */
export function metricsListedIn(reference: string): Set<string> {
  return new Set([...reference.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name ?? ''));
}
