import { z } from 'zod';
import { usageFinalSchema, usageReapSchema, withdrawalSchema } from './usage/usage-event.ts';

/**
 * Fields of a report beside the charge, each with the value that replaces one that cannot be read. None of it decides who pays how much,
 * so none of it may keep a charge from being booked: a clock that was set back makes a duration negative, a newer release adds a field.
 */
const STAND_INS = {
  node: '',
  protocol: 'chat',
  is_stream: false,
  upstream_id: null,
  attempts: [],
  outcome: 'completed',
  status: 200,
  basis: 'estimated',
  started_at: 0,
  first_token_ms: null,
  duration_ms: 0,
  traceparent: undefined,
} as const;

const SHAPES: Readonly<Record<string, Readonly<Record<string, z.ZodType>>>> = {
  usage: usageFinalSchema.shape,
  reap: usageReapSchema.shape,
  withdraw: withdrawalSchema.shape,
};
const objectSchema = z.record(z.string(), z.unknown());

export interface WithoutBadTelemetry {
  /** To be judged by the schema of its kind. */
  payload: unknown;
  /** Telemetry that could not be read. */
  unreadable: string[];
  /** Fields that this release does not know. */
  unknown: string[];
}

/** Replaces telemetry that cannot be read and removes fields of other releases. Everything that a charge rests on is left as it is. */
export function withoutBadTelemetry(raw: unknown): WithoutBadTelemetry {
  const fields = objectSchema.safeParse(raw).data;
  const kind = fields?.['kind'];
  const shape = typeof kind === 'string' && Object.hasOwn(SHAPES, kind) ? SHAPES[kind] : null;
  if (!fields || !shape) return { payload: raw, unreadable: [], unknown: [] };
  const known = Object.entries(fields).filter(([name]) => Object.hasOwn(shape, name));
  const standIns = Object.entries(STAND_INS).filter(
    ([name]) => shape[name] !== undefined && !shape[name].safeParse(fields[name]).success,
  );
  return {
    payload: Object.fromEntries([...known, ...standIns]),
    unreadable: standIns.map(([name]) => name),
    unknown: Object.keys(fields).filter((name) => !Object.hasOwn(shape, name)),
  };
}
