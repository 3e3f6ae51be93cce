import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { withoutBadTelemetry } from './telemetry.ts';
import { usageFinalSchema, type UsageFinal } from './usage/usage-event.ts';

const CHARGED = {
  kind: 'usage',
  account_id: 1,
  key_id: 2,
  subscription_id: 3,
  model_id: 4,
  price_version_id: 5,
  input_tokens: 6,
  cache_read_tokens: 7,
  cache_write_tokens: 8,
  output_tokens: 9,
  reasoning_tokens: 0,
  charge: 30,
} as const;
const TELEMETRY = {
  node: 'node-1:0',
  protocol: 'chat',
  is_stream: true,
  upstream_id: 1,
  attempts: [{ upstream_id: 1, route_id: 1, status: 200, duration_ms: 5 }],
  outcome: 'completed',
  status: 200,
  basis: 'reported',
  started_at: 1,
  first_token_ms: 1,
  duration_ms: 2,
  traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`,
} as const;
const FINAL: UsageFinal = { ...CHARGED, ...TELEMETRY, attempts: [...TELEMETRY.attempts] };

test('a final that is sound is left as it is', () => {
  expect(withoutBadTelemetry(FINAL)).toEqual({ payload: FINAL, unreadable: [], unknown: [] });
});

test('whatever telemetry says or lacks, the final can be read and its charge is untouched', () => {
  const telemetry = fc.dictionary(
    fc.oneof(fc.constantFrom(...Object.keys(TELEMETRY)), fc.string()),
    fc.anything(),
  );
  fc.assert(
    fc.property(telemetry, (fields) => {
      const { payload } = withoutBadTelemetry({ ...fields, ...CHARGED });
      expect(usageFinalSchema.parse(payload)).toMatchObject(CHARGED);
    }),
  );
});

test('what the charge rests on is never replaced', () => {
  fc.assert(
    fc.property(fc.constantFrom(...Object.keys(CHARGED)), fc.anything(), (name, value) => {
      const { payload, unreadable } = withoutBadTelemetry({ ...FINAL, [name]: value });
      expect(unreadable).toEqual([]);
      expect(payload).toMatchObject({ ...FINAL, [name]: value });
    }),
  );
});

test.each([{ toString: null }, 'constructor', '__proto__'])(
  'a kind that is none is left to the schema: %j',
  (kind) => {
    const raw = { ...FINAL, kind };
    expect(withoutBadTelemetry(raw)).toEqual({ payload: raw, unreadable: [], unknown: [] });
  },
);

test('names what it dropped', () => {
  expect(withoutBadTelemetry({ ...FINAL, duration_ms: -1, surprise: 1 })).toMatchObject({
    unreadable: ['duration_ms'],
    unknown: ['surprise'],
  });
});
