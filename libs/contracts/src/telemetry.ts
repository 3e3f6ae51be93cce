import { z } from 'zod';
import { usageFinalSchema, usageReapSchema, withdrawalSchema } from './usage/usage-event.ts';

/**
 * Lists report fields that do not affect the charge, each with the value that replaces an unreadable one. None of them may keep a charge from being
 * booked: a clock that was set back makes a duration negative, and a newer release adds a field.
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
  /** The schema of its kind validates it next. */
  payload: unknown;
  /** Holds the names of unreadable telemetry fields. */
  unreadable: string[];
  /** Holds the names of fields that this release does not know. */
  unknown: string[];
}

/** Replaces unreadable telemetry and removes unknown fields. The fields that affect a charge stay unchanged. */
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
