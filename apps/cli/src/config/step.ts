import type { Fields } from './config-file.ts';

export type Kind = 'upstream' | 'model' | 'price' | 'route' | 'shelf' | 'ceilings';
export type Action = 'add' | 'change' | 'remove';

export interface Difference {
  field: string;
  /** Is the value before the change; undefined for an addition. */
  from: unknown;
  to: unknown;
}

/** Describes one change of an installation, which is one request. */
export interface Step {
  action: Action;
  kind: Kind;
  /** Is the name of the object for people; for a model, its price and its place on the shelf, the model's name. */
  name: string;
  differences: readonly Difference[];
  /** Is the body of the call, with references instead of secrets. */
  body: Fields;
  id?: number;
  /** Is the time of the object's last change when the plan was made. */
  updatedAt?: string;
  /** Names the names of the model and upstream that a new route connects. */
  ends?: { model: string; upstream: string };
}

export interface Plan {
  steps: readonly Step[];
  /** Names the objects that the installation has and the file lacks; they stay. */
  unmanaged: readonly string[];
}

export function routeName(route: {
  model: string;
  upstream: string;
  upstreamModel: string;
}): string {
  return `${route.model} > ${route.upstream} (${route.upstreamModel})`;
}
