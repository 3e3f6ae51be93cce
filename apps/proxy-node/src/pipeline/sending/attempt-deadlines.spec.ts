import { describe, expect, test } from '@jest/globals';
import { deliveredOf, parseAsk, type Delivered } from '@tollgate/protocols';
import type { Candidate } from '../../snapshot/routing-index.ts';
import { AttemptLimits, deadlinesFor, isPaced } from './attempt-deadlines.ts';

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

describe('an attempt is given up at the pace of its route', () => {
  const plain = { serverTools: [], body: {}, isBackground: false };
  const paced = (
    {
      model = 'gpt-4o',
      failover,
      reads,
      limits = [120_000, 120_000],
      ...waiting
    }: {
      model?: string;
      failover?: Model['failover'];
      reads?: true;
      limits?: [number, number];
      isStream?: boolean;
      hasOther?: boolean;
    } = {},
    ask: Partial<Parameters<typeof isPaced>[2]> = {},
  ): boolean =>
    isPaced(
      {
        route: { upstream_model: model },
        upstream: { first_token_timeout_ms: limits[0], idle_timeout_ms: limits[1] },
      } as Candidate,
      {
        model: { failover, reads_more_than_sent: reads } as Model,
        isStream: true,
        hasOther: true,
        ...waiting,
      },
      { ...plain, ...ask },
    );

  test('by default, while another route stands by', () => {
    expect([paced(), paced({ isStream: false })]).toEqual([true, true]);
    expect(paced({ failover: { replay: 'always' } })).toBe(true);
  });

  test('not on the last route', () => {
    expect(paced({ hasOther: false })).toBe(false);
  });

  test('not where an operator has set limits, nor with `replay: safe` or `never`', () => {
    expect(
      [
        paced({ failover: { first_token_timeout_ms: 120_000 } }),
        paced({ failover: { idle_timeout_ms: 120_000 } }),
        paced({ isStream: false, failover: { first_byte_timeout_ms: 300_000 } }),
        paced({ isStream: false, limits: [120_000, 60_000] }),
        paced({ limits: [300_000, 120_000] }),
        paced({ limits: [120_000, 60_000] }),
        paced({ failover: { replay: 'safe' } }),
        paced({ failover: { replay: 'never' } }),
      ].includes(true),
    ).toBe(false);
  });

  test('not where it thinks, searches, works in the background, or has tools of its provider', () => {
    const serverTools = [{}] as unknown as Parameters<typeof isPaced>[2]['serverTools'];
    expect(
      [
        paced({ model: 'gpt-5' }),
        paced({ reads: true, isStream: false }),
        paced({}, { body: { thinking: { type: 'adaptive' } } }),
        paced({}, { body: { reasoning_effort: 'high' } }),
        paced({}, { serverTools }),
        paced({}, { isBackground: true }),
      ].includes(true),
    ).toBe(false);
  });
});

describe('the silence of a stream is judged by the pace of its route', () => {
  const candidate = {
    route: { id: 1, upstream_model: 'gpt-4o' },
    upstream: {
      base_url: 'https://upstream.example',
      first_token_timeout_ms: 120_000,
      idle_timeout_ms: 120_000,
    },
  } as Candidate;
  const ask = parseAsk(
    'chat',
    Buffer.from('{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]}'),
  );
  const began = (limits: AttemptLimits, delivered: Delivered | null) => {
    const { pace } = limits.of(candidate, {
      model: { id: 1 } as Model,
      ask,
      hasOther: true,
      promptTokens: 1,
      outputTokens: 1,
      delivery: { isOver: false, delivered },
    });
    pace?.sawContent(10);
    return pace;
  };

  test('until nothing of it is kept: then 15 s of silence end it', () => {
    const limits = new AttemptLimits(1);
    for (let count = 0; count < 20; count += 1) began(limits, null)?.ended();
    let isRoom = true;
    const room = { take: () => isRoom, giveBack: () => undefined };
    const delivered = deliveredOf(ask, { room }) as Delivered;
    const pace = began(limits, delivered);
    const outpacedAfter = (ms: number) => pace?.isOutpaced(60_000, ms);
    delivered.keep(Buffer.from(': kept\n\n'));
    expect([outpacedAfter(3_000), outpacedAfter(3_001)]).toEqual([false, true]);
    isRoom = false;
    delivered.keep(Buffer.from(': not kept\n\n'));
    expect([outpacedAfter(15_000), outpacedAfter(15_001)]).toEqual([false, true]);
  });
});
