import type { Fields } from './config-file.ts';

export type Kind = 'upstream' | 'model' | 'price' | 'route' | 'shelf' | 'ceilings';
export type Action = 'add' | 'change' | 'remove';

export interface Difference {
  field: string;
  /** Undefined for what is added. */
  from: unknown;
  to: unknown;
}

/** One change of an installation, which is one request. */
export interface Step {
  action: Action;
  kind: Kind;
  /** Names the object to a person; of a model, its price and its place on the shelf it is the model's name. */
  name: string;
  differences: readonly Difference[];
  /** Holds references in place of secrets. */
  body: Fields;
  id?: number;
  /** The moment of the object's last change that the plan knows of. */
  updatedAt?: string;
  /** The names of what a new route joins. */
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
