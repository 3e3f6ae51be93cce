import { refusedField, type RefusableField } from '@tollgate/protocols';
import type { SnapshotRoute } from '@tollgate/snapshot';
import type { UpstreamFailure } from './upstream-failure.ts';

/** More routes than any installation has; beyond them all is learned anew. */
const ROUTES_MAX = 10_000;
const NONE: ReadonlySet<RefusableField> = new Set();
const OLD_LIMIT: ReadonlySet<RefusableField> = new Set(['max_tokens']);

/** What models have refused of requests, by route: learned from an upstream's own words, so that one request a field pays for it. */
export class RefusedFields {
  readonly #learned = new Map<string, Set<RefusableField>>();

  /** A route that is set to `max_completion_tokens` leads to a model that refuses the older name, until the upstream says otherwise. */
  of(route: SnapshotRoute): ReadonlySet<RefusableField> {
    const learned = this.#learned.get(keyOf(route));
    const isNewLimit = route.output_limit_field === 'max_completion_tokens';
    if (!learned) return isNewLimit ? OLD_LIMIT : NONE;
    return isNewLimit && !learned.has('max_completion_tokens')
      ? new Set([...learned, ...OLD_LIMIT])
      : learned;
  }

  /** The field that a repetition would do without; null when the failure names none. */
  learn(route: SnapshotRoute, failure: UpstreamFailure): RefusableField | null {
    const field = failure.evidence === 'stated' ? refusedField(failure.error) : null;
    if (field === null) return null;
    if (this.#learned.size >= ROUTES_MAX) this.#learned.clear();
    const key = keyOf(route);
    const known = this.#learned.get(key) ?? new Set();
    this.#learned.set(key, known.add(field));
    return field;
  }
}

/** A route that is pointed at another model begins anew. */
function keyOf({ id, upstream_id: upstreamId, upstream_model: model }: SnapshotRoute): string {
  return `${id}/${upstreamId}/${model}`;
}
