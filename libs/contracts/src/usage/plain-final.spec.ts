import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { CLIENT_PROTOCOLS } from './client-protocols.ts';
import { isPlainFinal } from './plain-final.ts';
import { TOKEN_FIELDS } from './token-fields.ts';
import { OUTCOMES } from './outcomes.ts';
import { usageFinalSchema } from './usage-event.ts';

const count = fc.nat();
const sound = fc.record(
  {
    kind: fc.constant('usage'),
    ...Object.fromEntries(
      ['account_id', 'key_id', 'subscription_id', 'model_id', 'price_version_id'].map((name) => [
        name,
        fc.integer({ min: 1 }),
      ]),
    ),
    node: fc.constantFrom('node-1:0', 'näh:1', ''),
    protocol: fc.constantFrom(...CLIENT_PROTOCOLS),
    is_stream: fc.boolean(),
    upstream_id: fc.option(fc.integer({ min: 1 })),
    attempts: fc.array(
      fc.record(
        {
          upstream_id: fc.integer({ min: 1 }),
          route_id: fc.integer({ min: 1 }),
          status: fc.integer(),
          error: fc.constantFrom('timeout', 'x'.repeat(65), '\0'),
          duration_ms: count,
          cost: fc.constant({ input_tokens: 1, output_tokens: 2 }),
        },
        { requiredKeys: ['upstream_id', 'duration_ms'] },
      ),
      { maxLength: 17 },
    ),
    outcome: fc.constantFrom(...OUTCOMES),
    status: fc.integer(),
    ...Object.fromEntries(TOKEN_FIELDS.map((name) => [name, count])),
    charge: count,
    key_hash: fc.constantFrom('a'.repeat(64), 'A'.repeat(64)),
    basis: fc.constantFrom('reported', 'estimated'),
    premiums: fc.constant(['speed=fast']),
    started_at: count,
    first_token_ms: fc.option(count),
    duration_ms: count,
  },
  { requiredKeys: ['kind', 'node', 'attempts', 'charge'] },
);
/** Changes one field to another value, or adds one more. */
const changed = fc
  .tuple(
    sound,
    fc.constantFrom(...Object.keys(usageFinalSchema.shape), 'new_field', '__proto__'),
    fc.constantFrom(-1, 0, 1.5, 2 ** 31, 2 ** 53, null, '', 'usage', [], {}, [null], Number.NaN),
  )
  .map(([final, name, value]) => JSON.parse(JSON.stringify({ ...final, [name]: value })));

const whole = {
  kind: 'usage',
  ...{ account_id: 1, key_id: 1, subscription_id: 1, model_id: 1, price_version_id: 1 },
  node: 'node-1:0',
  protocol: 'chat',
  is_stream: false,
  upstream_id: 1,
  attempts: [{ upstream_id: 1, route_id: 2, status: 200, duration_ms: 5 }],
  outcome: 'completed',
  status: 200,
  ...Object.fromEntries(TOKEN_FIELDS.map((name) => [name, 1])),
  charge: 5,
  basis: 'reported',
  started_at: 1,
  first_token_ms: null,
  duration_ms: 5,
};

test('what is plain, the schema accepts and leaves as it is', () => {
  fc.assert(
    fc.property(fc.oneof(sound, changed), (value) => {
      if (isPlainFinal(value)) expect(usageFinalSchema.parse(value)).toEqual(value);
    }),
    { numRuns: 1_000 },
  );
});

test('a final as nodes write it is plain, and any change that the schema refuses is seen', () => {
  expect(isPlainFinal(whole)).toBe(true);
  fc.assert(
    fc.property(changed, (value) => {
      const edited = { ...whole, ...value };
      if (!usageFinalSchema.safeParse(edited).success) expect(isPlainFinal(edited)).toBe(false);
    }),
    { numRuns: 1_000 },
  );
});

test.each(Object.keys(whole))('a final without %s is for the schema', (name) => {
  const { [name as 'kind']: _, ...less } = whole;
  expect(isPlainFinal(less)).toBe(usageFinalSchema.safeParse(less).success);
});
