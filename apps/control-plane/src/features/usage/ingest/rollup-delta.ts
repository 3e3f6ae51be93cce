import {
  CHARGED_TOKEN_FIELDS,
  chargedTokenFields,
  outcomeRow,
  type UsageFinal,
} from '@tollgate/contracts';
import { SUMMED_COLUMNS, type SummedColumn } from '../../../platform/database/summed-columns.ts';
import { bucketOf, emptyHistogram } from '../histogram.ts';
import type { ReadEvent } from './read-event.ts';

const MINUTE_MS = 60_000;
/** Is the usage_rollups.upstream_id of requests that reached no upstream. */
const NO_UPSTREAM = 0;

/** Holds the amounts that a batch adds to one row of a roll-up. Counts may be negative inside one delta, never in a sum over all events of a request. */
export interface RollupDelta {
  /** Is the start of the minute, hour or day (UTC). */
  periodMs: number;
  userId: number;
  keyId: number;
  modelId: number;
  upstreamId: number;
  sums: Record<SummedColumn, number>;
  duration: number[];
  firstToken: number[];
}

/**
 * Sums a batch into one delta per minute and row of the roll-ups, in key order so that parallel workers lock rows in one order.
 * Events are order-free: a correction carries the whole final, so it takes back exactly what its reap booked and books the request again.
 */
export function rollupDeltas(events: readonly ReadEvent[]): RollupDelta[] {
  const byKey = new Map<string, RollupDelta>();
  const rowOf = (read: ReadEvent, who: Requester, upstreamId: number): RollupDelta =>
    rowIn(byKey, {
      periodMs: Math.floor(read.beganAtMs / MINUTE_MS) * MINUTE_MS,
      who,
      upstreamId,
    });
  for (const read of events) {
    const { payload, delta, seq } = read.event;
    if (payload.kind === 'reap') addReap(rowOf(read, payload, NO_UPSTREAM), delta, 1);
    if (payload.kind === 'usage') {
      if (seq === 1) addReap(rowOf(read, payload, NO_UPSTREAM), payload.charge - delta, -1);
      addFinal(rowOf(read, payload, payload.upstream_id ?? NO_UPSTREAM), payload, read);
    }
  }
  return inKeyOrder(byKey);
}

/** Sums the deltas into longer periods, again in key order. */
export function inPeriods(deltas: readonly RollupDelta[], periodLengthMs: number): RollupDelta[] {
  return folded(deltas, ({ periodMs, userId, keyId, modelId }) => ({
    periodMs: Math.floor(periodMs / periodLengthMs) * periodLengthMs,
    who: { account_id: userId, key_id: keyId, model_id: modelId },
  }));
}

/** Sums the deltas over users and keys, again in key order. */
export function withoutRequesters(deltas: readonly RollupDelta[]): RollupDelta[] {
  return folded(deltas, ({ periodMs, modelId }) => ({
    periodMs,
    who: { account_id: 0, key_id: 0, model_id: modelId },
  }));
}

function folded(
  deltas: readonly RollupDelta[],
  rowOf: (delta: RollupDelta) => { periodMs: number; who: Requester },
): RollupDelta[] {
  const byKey = new Map<string, RollupDelta>();
  for (const delta of deltas)
    addDelta(rowIn(byKey, { ...rowOf(delta), upstreamId: delta.upstreamId }), delta);
  return inKeyOrder(byKey);
}

function inKeyOrder(byKey: ReadonlyMap<string, RollupDelta>): RollupDelta[] {
  return [...byKey.values()].sort(
    (a, b) =>
      a.periodMs - b.periodMs ||
      a.userId - b.userId ||
      a.keyId - b.keyId ||
      a.modelId - b.modelId ||
      a.upstreamId - b.upstreamId,
  );
}

function isError(final: Pick<UsageFinal, 'outcome' | 'status'>): boolean {
  return final.status >= 400 || outcomeRow(final.outcome).isFailure;
}

function addReap(row: RollupDelta, charge: number, sign: 1 | -1): void {
  row.sums.requests += sign;
  row.sums.errors += sign;
  row.sums.charge += sign * charge;
}

function addFinal(row: RollupDelta, final: UsageFinal, { unreadable }: ReadEvent): void {
  row.sums.requests += 1;
  row.sums.errors += isError(final) ? 1 : 0;
  row.sums.charge += final.charge;
  for (const name of CHARGED_TOKEN_FIELDS) row.sums[name] += final[name] ?? 0;
  if (!unreadable.includes('duration_ms')) count(row.duration, final.duration_ms);
  if (final.first_token_ms !== null) count(row.firstToken, final.first_token_ms);
}

function addDelta(row: RollupDelta, delta: RollupDelta): void {
  for (const name of SUMMED_COLUMNS) row.sums[name] += delta.sums[name];
  for (const histogram of ['duration', 'firstToken'] as const)
    row[histogram] = row[histogram].map((value, bucket) => value + (delta[histogram][bucket] ?? 0));
}

function count(histogram: number[], valueMs: number): void {
  const bucket = bucketOf(valueMs);
  histogram[bucket] = (histogram[bucket] ?? 0) + 1;
}

interface Requester {
  account_id: number;
  key_id: number;
  model_id: number;
}

function rowIn(
  byKey: Map<string, RollupDelta>,
  { periodMs, who, upstreamId }: { periodMs: number; who: Requester; upstreamId: number },
): RollupDelta {
  const key = `${periodMs}:${who.account_id}:${who.key_id}:${who.model_id}:${upstreamId}`;
  const known = byKey.get(key);
  if (known) return known;
  const row: RollupDelta = {
    periodMs,
    userId: who.account_id,
    keyId: who.key_id,
    modelId: who.model_id,
    upstreamId,
    sums: { requests: 0, errors: 0, charge: 0, ...chargedTokenFields(0) },
    duration: emptyHistogram(),
    firstToken: emptyHistogram(),
  };
  byKey.set(key, row);
  return row;
}
