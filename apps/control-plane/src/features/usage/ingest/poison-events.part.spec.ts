import { describe, expect, test } from '@jest/globals';
import type { RelayedEvent } from '@tollgate/contracts';
import { usageEvent, type EventParts } from '../../../testing/ledger-under-test.ts';
import {
  worker,
  subscribed,
  stateOf,
  deadLetters,
} from '../../../testing/usage-ingest-under-test.ts';

describe('a poison event', () => {
  const cases: [string, (parts: EventParts) => RelayedEvent][] = [
    ['payload that is no JSON', (parts) => ({ ...usageEvent(1, parts), payload: '{"kind":' })],
    [
      '10 MB of payload',
      (parts) => ({ ...usageEvent(1, parts), payload: `"${'x'.repeat(10_000_000)}"` }),
    ],
    [
      'a NUL in the payload',
      (parts) => ({ ...usageEvent(1, parts), payload: '{"kind":"us\u0000age"}' }),
    ],
    ['a negative count', (parts) => usageEvent(1, { ...parts, final: { output_tokens: -5 } })],
    ['a fractional delta', (parts) => ({ ...usageEvent(1, parts), delta: '1.5' })],
    ['a negative zero delta', (parts) => ({ ...usageEvent(1, parts), delta: '-0x' })],
    ['an absurd delta', (parts) => ({ ...usageEvent(1, parts), delta: '99999999999999999999' })],
    [
      'a charge that is not what its price version makes of it',
      (parts) => usageEvent(1, { ...parts, delta: 2, final: { charge: 2 } }),
    ],
    [
      'a premium that its price version has no multiplier for',
      (parts) => usageEvent(1, { ...parts, final: { premiums: ['speed=fast'] } }),
    ],
    [
      'a price version of another model',
      (parts) => usageEvent(1, { ...parts, final: { price_version_id: 999_999 } }),
    ],
    [
      'a subscription that does not exist',
      (parts) => usageEvent(1, { ...parts, final: { model_id: 999_999 } }),
    ],
    [
      "another account's subscription",
      (parts) => usageEvent(1, { ...parts, final: { account_id: 1 } }),
    ],
    [
      'a rid that is no UUIDv7',
      (parts) => usageEvent(1, { ...parts, rid: '7c9e6679-7425-40de-944b-e07fc1f90ae7' }),
    ],
    [
      'the number of a later format',
      (parts) => {
        const event = usageEvent(1, parts);
        return { ...event, payload: JSON.stringify({ ...JSON.parse(event.payload), format: 2 }) };
      },
    ],
    ['an unknown seq', (parts) => usageEvent(1, { ...parts, seq: 7 })],
  ];

  test.each(cases)(
    'with %s becomes a dead letter once, and its batch commits',
    async (_what, make) => {
      const parts = await subscribed(100);
      const poison = make(parts);
      const neighbour = usageEvent(7, parts);
      await worker.process([poison, neighbour]);
      await worker.process([poison, neighbour]);
      expect(await stateOf(parts)).toEqual({ balance: 93, overdraft: 0 });
      expect(await deadLetters(poison.rid)).toHaveLength(1);
    },
  );

  test('that only PostgreSQL can judge is found by booking its batch one by one', async () => {
    const parts = await subscribed(100);
    const poison = usageEvent(1, { ...parts, keyId: 3_000_000_000 });
    await worker.process([usageEvent(7, parts), poison, usageEvent(8, parts)]);
    expect(await stateOf(parts)).toEqual({ balance: 85, overdraft: 0 });
    expect(await deadLetters(poison.rid)).toMatchObject([
      { reason: expect.stringContaining('PostgreSQL refused it') },
    ]);
  });
});
