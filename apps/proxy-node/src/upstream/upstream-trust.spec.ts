import { expect, test } from '@jest/globals';
import { UpstreamTrust } from './upstream-trust.ts';

const HOUR = 3_600_000;
const served = (...ids: number[]) => [ids.map((id) => ({ upstream: { id } }))];
const FINE = { doubt: null, overrun: null };

test('holds cover the largest overrun of the last hour, and no longer', () => {
  const trust = new UpstreamTrust({ warn: () => undefined });
  const doubt = 'output_beyond_limit';
  trust.note({ rid: 'r', upstreamId: 1 }, { doubt, overrun: { factor: 7.2, tokens: 60 } }, 1_000);
  trust.note({ rid: 'r', upstreamId: 1 }, { doubt, overrun: { factor: 2, tokens: 500 } }, 2_000);
  trust.note({ rid: 'r', upstreamId: 1 }, FINE, 3_000);
  trust.note({ rid: 'r', upstreamId: null }, { doubt, overrun: { factor: 99, tokens: 99 } }, 3_000);
  expect(trust.overrunOf(served(2, 1), 4_000)).toEqual({ factor: 7.2, tokens: 500 });
  expect(trust.of(1, 4_000)).toMatchObject({ hold_factor: 8 });
  expect(trust.overrunOf(served(2), 4_000)).toBeNull();
  expect(trust.overrunOf(served(1), 2_000 + HOUR)).toBeNull();
});

test('doubts are counted over the last hour or two, and forgotten with their upstream', () => {
  const trust = new UpstreamTrust({ warn: () => undefined });
  for (let report = 0; report < 3; report++)
    trust.note({ rid: 'r', upstreamId: 1 }, { doubt: 'prompt_beyond_bound', overrun: null }, 0);
  expect(trust.of(1, HOUR - 1)).toMatchObject({ doubts: 3, last_doubt: 'prompt_beyond_bound' });
  expect(trust.of(1, HOUR)).toMatchObject({ doubts: 3 });
  expect(trust.of(1, 2 * HOUR)).toMatchObject({ doubts: 0 });
  trust.retain(new Set([2]));
  expect(trust.of(1, 0)).toMatchObject({ last_doubt: null });
});
