import { describe, expect, test } from '@jest/globals';
import type { Candidate } from '../../snapshot/routing-index.ts';
import { deadlinesFor } from './attempt-deadlines.ts';

type Model = Parameters<typeof deadlinesFor>[1]['model'];

function deadlines(
  upstreamModel: string,
  { failover, hasOther = false }: { failover?: Model['failover']; hasOther?: boolean } = {},
) {
  const candidate = {
    route: { upstream_model: upstreamModel },
    upstream: {
      first_token_timeout_ms: 10_000,
      idle_timeout_ms: 20_000,
      total_timeout_ms: 600_000,
    },
  } as Candidate;
  const model = { ...(failover ? { failover } : {}) } as Model;
  return deadlinesFor(candidate, { model, isStream: true, hasOther });
}

describe('a stream may be silent', () => {
  test("for the upstream's times, or minutes where its model reasons by its name", () => {
    expect(deadlines('gpt-4o')).toMatchObject({ firstTokenMs: 10_000, idleMs: 20_000 });
    expect(deadlines('gpt-5')).toMatchObject({ firstTokenMs: 300_000, idleMs: 300_000 });
  });

  test("for as long as the model's own setting allows, shorter or longer", () => {
    for (const ms of [1_000, 900_000])
      expect(
        deadlines('gpt-5', { failover: { first_token_timeout_ms: ms, idle_timeout_ms: ms } }),
      ).toMatchObject({ firstTokenMs: ms, idleMs: ms });
  });

  test('while keep-alives come, where no other route could answer instead', () => {
    expect(deadlines('gpt-4o').isKeptByKeepAlives).toBe(true);
    expect(deadlines('gpt-4o', { hasOther: true }).isKeptByKeepAlives).toBe(false);
  });
});
