export type ProblemCode =
  | 'model_without_route'
  | 'model_without_price'
  | 'fallback_to_unknown_model'
  | 'model_never_priced'
  | 'model_input_unbounded'
  | 'model_not_yet_priced'
  | 'route_to_disabled_upstream'
  | 'route_to_missing_model'
  | 'route_to_missing_upstream'
  | 'embedding_route_to_anthropic'
  | 'duplicate_route'
  | 'duplicate_model_name'
  | 'duplicate_upstream_name'
  | 'upstream_passes_all_fields'
  | 'upstream_unspoken'
  | 'upstream_unused'
  | 'upstream_without_version';

export interface ConfigProblem {
  code: ProblemCode;
  /** Is `error` where callers are refused because of it, and `warning` where it is probably not meant. */
  severity: 'error' | 'warning';
  subject: { kind: 'model' | 'upstream' | 'route'; id: number };
  message: string;
}

export function problem(
  code: ProblemCode,
  severity: ConfigProblem['severity'],
  kind: ConfigProblem['subject']['kind'],
  id: number,
  message: string,
): ConfigProblem {
  return { code, severity, subject: { kind, id }, message };
}
