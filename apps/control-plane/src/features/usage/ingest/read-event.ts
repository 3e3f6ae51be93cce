import {
  laterFormat,
  usageEventSchema,
  withoutBadTelemetry,
  type RelayedEvent,
  type UsageEvent,
  type UsageFinal,
} from '@tollgate/contracts';
import { payloadOf } from '../../proxy-nodes/relayed-payload.ts';

/** Holds an event that passed every check that needs no database. */
export interface ReadEvent {
  event: UsageEvent;
  relayed: RelayedEvent;
  /** Is true when its node signed it: it states the whole charge of its request, whatever its delta and number. */
  isSigned: boolean;
  /** Is the start of the request, from its rid, in Unix ms. */
  beganAtMs: number;
  /** Names those of its claims on budgets that Redis does not count, because it had lost the budgets. */
  uncounted?: string;
  /** Lists the names of telemetry fields that could not be read, which are booked as unknown. */
  unreadable: readonly string[];
  /** Lists the names of another release's fields, which are not stored. */
  unknown: readonly string[];
}

export type Reading =
  | { kind: 'event'; read: ReadEvent }
  | { kind: 'poison'; relayed: RelayedEvent; reason: string };

const INTEGER = /^-?\d{1,16}$/;

/** Reads texts from the outbox. Throws nothing, because a poison event must not stop its batch. */
export function readEvent(relayed: RelayedEvent): Reading {
  const poison = (reason: string): Reading => ({ kind: 'poison', relayed, reason });
  if (!INTEGER.test(relayed.seq) || !INTEGER.test(relayed.delta))
    return poison('seq and delta must be integers');
  const { mac, value: raw, plain } = payloadOf(relayed);
  if (raw === undefined) return poison('payload is not JSON');
  const later = laterFormat('event', raw);
  if (later !== null) return poison(`format ${later} is of a later release`);
  const event = eventOf(relayed, raw, plain);
  if (event.kind === 'unfit') return poison(event.reason);
  const { parsed, unreadable, unknown } = event;
  const isSigned = mac !== null && parsed.payload.kind === 'usage';
  const fault = isSigned ? signedFaultOf(parsed) : faultOf(parsed);
  return fault === null
    ? {
        kind: 'event',
        read: {
          event: parsed,
          relayed,
          isSigned,
          beganAtMs: uuidTimeMs(parsed.rid),
          unreadable,
          unknown,
        },
      }
    : poison(fault);
}

type Fitting =
  | { kind: 'fit'; parsed: UsageEvent; unreadable: readonly string[]; unknown: readonly string[] }
  | { kind: 'unfit'; reason: string };

const NOTHING_ODD = { unreadable: [], unknown: [] };

/** Nearly all finals are plain; only those that no schema accepts as they are need a check of each field. */
function eventOf(relayed: RelayedEvent, raw: unknown, plain: UsageFinal | null): Fitting {
  const { rid } = relayed;
  const seq = Number(relayed.seq);
  const delta = Number(relayed.delta);
  if (plain && isRequestId(rid) && isSeq(seq) && Number.isSafeInteger(delta))
    return { kind: 'fit', parsed: { rid, seq, delta, payload: plain }, ...NOTHING_ODD };
  const { payload, unreadable, unknown } = withoutBadTelemetry(raw);
  const read = usageEventSchema.safeParse({ rid, seq, delta, payload });
  return read.success
    ? { kind: 'fit', parsed: read.data, unreadable, unknown }
    : { kind: 'unfit', reason: firstIssue(read.error.issues) };
}

function isSeq(seq: number): seq is UsageEvent['seq'] {
  return seq === 0 || seq === 1 || seq === 2;
}

/** The number and delta of a signed final come from Redis and are not believed; `LateUsage` computes them from its charge. */
function signedFaultOf({ rid, seq }: UsageEvent): string | null {
  if (!isRequestId(rid)) return 'rid is not a UUIDv7 of this century';
  return seq === 2 ? 'usage has seq 0 or 1' : null;
}

/** Returns a fault that the schema cannot express: which deltas and sequence numbers each kind may carry. Returns null when there is none. */
function faultOf({ rid, seq, delta, payload }: UsageEvent): string | null {
  // The rid determines the partition's day, so only a UUIDv7 always meets its own duplicates.
  if (!isRequestId(rid)) return 'rid is not a UUIDv7 of this century';
  switch (payload.kind) {
    case 'usage':
      if (seq === 2) return 'usage has seq 0 or 1';
      if (seq === 0 && delta !== payload.charge) return 'the first charge must equal its delta';
      return seq === 1 && payload.charge - delta < 0
        ? 'a correction cannot take back more than it charges'
        : null;
    case 'reap':
      return seq === 0 && delta >= 0 ? null : 'a reap has seq 0 and a delta of 0 or more';
    case 'withdraw':
      return seq !== 1 && delta >= 0
        ? null
        : 'a withdrawal has seq 0 or 2 and a delta of 0 or more';
  }
}

/** Returns true for a withdrawal, of which Redis learns when it is repeated there. Nothing repeats a release (seq 2) of an epoch that has ended. */
export function isRepeated({ event }: ReadEvent): boolean {
  return event.payload.kind === 'withdraw' && event.seq === 0;
}

/** Returns the reap that a final corrects, when nothing else of it is left. */
export function reapOf({
  account_id,
  key_id,
  subscription_id,
  model_id,
  price_version_id,
  node,
  budgets,
}: UsageFinal) {
  return {
    kind: 'reap' as const,
    account_id,
    key_id,
    subscription_id,
    model_id,
    price_version_id,
    node,
    ...(budgets !== undefined && { budgets }),
  };
}

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;
/** A later time is invented and not a clock's error, and PostgreSQL's dates have an end. */
const RID_BEFORE_MS = Date.UTC(2100, 0, 1);

export function isRequestId(text: string): boolean {
  return UUID_V7.test(text) && uuidTimeMs(text) < RID_BEFORE_MS;
}

/** The first 48 bits are Unix ms (RFC 9562 section 5.7). */
export function uuidTimeMs(uuid: string): number {
  return Number.parseInt(uuid.slice(0, 8) + uuid.slice(9, 13), 16);
}

function firstIssue(issues: readonly { path: readonly PropertyKey[]; message: string }[]): string {
  const [issue] = issues;
  return issue
    ? `${issue.path.map(String).join('.')}: ${issue.message}`.slice(0, 500)
    : 'does not fit the schema';
}
