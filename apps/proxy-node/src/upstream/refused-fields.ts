import {
  knownRefusals,
  refusedField,
  withoutRefused,
  type ClientProtocol,
  type RefusableField,
} from '@tollgate/protocols';
import type { SnapshotRoute } from '@tollgate/snapshot';
import type { UpstreamFailure } from './upstream-failure.ts';

/** Is more than the routes of any installation; beyond it everything is learned again. */
const ROUTES_MAX = 10_000;

/** Remembers the request fields that models have refused, by route. One failed request per field teaches it, by the upstream's error. */
export class RefusedFields {
  /** Maps limit field and model to the refused fields. */
  readonly #known = new Map<string, ReadonlySet<RefusableField>>();
  readonly #learned = new Map<string, Set<RefusableField>>();

  /** Returns the known and the learned fields of the route's model. A refused limit field takes precedence over the setting. */
  of(route: SnapshotRoute): ReadonlySet<RefusableField> {
    const learned = this.#learned.get(keyOf(route));
    const known = this.#knownOf(route);
    if (!learned) return known;
    const isOldLimitKnown = learned.has('max_completion_tokens') && !learned.has('max_tokens');
    const all = new Set([...known, ...learned]);
    if (isOldLimitKnown) all.delete('max_tokens');
    return all;
  }

  #knownOf({
    upstream_model: model,
    output_limit_field: limitField,
  }: SnapshotRoute): ReadonlySet<RefusableField> {
    const key = `${limitField}/${model}`;
    let known = this.#known.get(key);
    if (!known) {
      if (this.#known.size >= ROUTES_MAX) this.#known.clear();
      const oldLimit = limitField === 'max_completion_tokens' ? (['max_tokens'] as const) : [];
      this.#known.set(key, (known = new Set([...oldLimit, ...knownRefusals(model)])));
    }
    return known;
  }

  /** Returns a request's body without them. Legacy completions have one name for the limit, whatever chat models accept. */
  strip(
    body: Uint8Array,
    { route, protocol }: { route: SnapshotRoute; protocol: ClientProtocol },
  ): Uint8Array {
    return protocol === 'completions' ? body : withoutRefused(body, this.of(route));
  }

  /** Returns the field that a repetition would omit; null when the failure names none. */
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

/** A route forgets its fields when it is pointed at another model. */
function keyOf({ id, upstream_id: upstreamId, upstream_model: model }: SnapshotRoute): string {
  return `${id}/${upstreamId}/${model}`;
}
