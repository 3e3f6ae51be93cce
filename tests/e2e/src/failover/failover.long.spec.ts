import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { ask, type Seen } from './ask.ts';
import { BREAKS, FAULTS, type Fault } from './faults.ts';
import { startOutage } from './outage.ts';
import { receiptOf, usedByWinner } from './receipt.ts';
import { writeReport, type Outcome } from './report.ts';
import { PROTOCOLS, TwoUpstreams, type Protocol } from './two-upstreams.ts';

/** Is the longest rest that the gateway gives a route by itself, and time for a request. */
const REST_MS_MAX = 17_000;
const POLICIES = {
  default: {},
  safe: { replay: 'safe' },
  never: { replay: 'never' },
  continues: { continues: true },
} as const;
type Policy = keyof typeof POLICIES;
/** Bounds the tokens by which the gateway's count of a short prompt may differ from its provider's. */
const PROMPT_TOLERANCE = 8;
/** Bounds the tokens of the words that a continuation repeats; the place of a reset decides which they are. */
const ANCHOR_TOKENS_MAX = 4;

let two: TwoUpstreams;
const outcomes: Outcome[] = [];
const breaks: Outcome[] = [];

beforeAll(async () => {
  two = await TwoUpstreams.start();
}, 60_000);
afterAll(async () => {
  writeReport(outcomes, breaks);
  await two?.tollgate.stop();
});

interface Asked {
  readonly seen: Seen;
  readonly protocol: Protocol;
  readonly isStream: boolean;
}

/** Asks each mode of the fault, in both protocols, JSON and stream; a model for each, as routes rest alone. */
async function askAll(
  { name, modes, window }: Fault,
  policy: Policy,
  {
    into = outcomes,
    shapesOf = [false, true],
    second = 'ok',
  }: { into?: Outcome[] | null; shapesOf?: boolean[]; second?: string } = {},
): Promise<Asked[]> {
  const shapes = modes.flatMap((mode) =>
    PROTOCOLS.flatMap((protocol) => shapesOf.map((isStream) => ({ mode, protocol, isStream }))),
  );
  const models = await two.addModels(
    shapes.map(({ mode, protocol }) => ({
      protocol,
      modes: [mode, second],
      failover: POLICIES[policy],
      ...(window !== undefined && { window }),
    })),
  );
  const asked: Asked[] = [];
  for (const [place, { protocol, isStream }] of shapes.entries()) {
    const seen = await ask(two, { protocol, isStream, model: models[place] ?? '' });
    asked.push({ seen, protocol, isStream });
  }
  const seen = asked.map((each) => each.seen);
  if (into) note(name, policy, seen, into);
  return asked;
}

/** Joins what several tests see of one fault under one policy into one line. */
function note(
  fault: string,
  policy: string,
  seen: readonly Seen[],
  into: Outcome[] = outcomes,
): void {
  const lost = seen.filter(({ isWhole }) => !isWhole);
  const at = into.findIndex((each) => each.fault === fault && each.policy === policy);
  const [earlier] = at === -1 ? [] : into.splice(at, 1);
  into.push({
    fault,
    policy,
    asked: (earlier?.asked ?? 0) + seen.length,
    saved: (earlier?.saved ?? 0) + seen.length - lost.length,
    otherwise: [
      ...(earlier?.otherwise ?? []),
      ...lost.map(({ status }) => (status === 200 ? 'an error in the stream' : String(status))),
    ],
    firstByteMs: [
      ...(earlier?.firstByteMs ?? []),
      ...seen.filter(({ isWhole }) => isWhole).map(({ firstByteMs }) => firstByteMs),
    ],
  });
}

describe.each(FAULTS)('$name, while a second upstream is sound', (fault) => {
  test('is answered by the second, which alone is charged; the first is in the receipt', async () => {
    for (const { seen } of await askAll(fault, 'default')) {
      expect(seen).toMatchObject({ status: 200, isWhole: true });
      const receipt = await receiptOf(two, seen.rid);
      expect(receipt).toMatchObject({
        outcome: 'completed',
        charge: await usedByWinner(two, seen.rid),
        route: [{ error: expect.any(String) }, { status: 200 }],
      });
      expect(receipt.route.map(({ cost }) => cost !== undefined)).toEqual([fault.isBilled, false]);
    }
  }, 60_000);

  const verdict = fault.isBilled ? 'an error, free of charge' : 'an answer of the second';
  test(`with \`replay: safe\` gives ${verdict}`, async () => {
    for (const { seen, protocol } of await askAll(fault, 'safe')) {
      expect(seen).toMatchObject({
        isWhole: !fault.isBilled,
        isFalseSuccess: false,
        status: fault.status?.[protocol] ?? 200,
      });
      const { charge, route } = await receiptOf(two, seen.rid);
      expect(route).toHaveLength(fault.isBilled ? 1 : 2);
      if (fault.isBilled) expect([charge, seen.text.includes('"error"')]).toEqual([0, true]);
    }
  }, 60_000);
});

describe('`replay: never`', () => {
  // The second upstream was never asked what the first had got, except where nothing was sent.
  test.each(FAULTS)(
    'sends nothing again: $name',
    async (fault) => {
      const isUnsent = fault.modes.includes('refused');
      for (const { seen } of await askAll(fault, 'never', { into: null })) {
        expect(seen).toMatchObject({ isWhole: isUnsent, isFalseSuccess: false });
        const { charge, route } = await receiptOf(two, seen.rid);
        expect(route).toHaveLength(isUnsent ? 2 : 1);
        if (!isUnsent) expect(charge).toBe(0);
      }
    },
    60_000,
  );
});

describe.each(BREAKS)(
  '$name in the middle of a stream, while a second upstream is sound',
  (fault) => {
    const inStreams = { into: breaks, shapesOf: [true] };

    test('ends with an error where that says something else, charged for what was delivered', async () => {
      const asked = await askAll(fault, 'default', { ...inStreams, second: 'reworded' });
      for (const { seen } of asked) {
        expect(seen).toMatchObject({ status: 200, isWhole: false, isFalseSuccess: false });
        const { outcome, charge, route } = await receiptOf(two, seen.rid);
        expect([outcome, route.length]).toEqual(['upstream_interrupted', 2]);
        expect(charge).toBeGreaterThan(0);
      }
    }, 60_000);

    test('with `continues` is one whole answer, charged as one', async () => {
      for (const { seen, protocol } of await askAll(fault, 'continues', inStreams)) {
        expect(seen).toMatchObject({ status: 200, isWhole: true });
        const { outcome, charge, route } = await receiptOf(two, seen.rid);
        expect(outcome).toBe('completed');
        expect(route).toMatchObject([
          { error: 'cut' },
          { status: 200, cost: { output_tokens: expect.any(Number) } },
        ]);
        // The installation pays the tokens of the second route.
        expect(route[1]?.cost?.output_tokens).toBeGreaterThan(0);
        expect(route[1]?.cost?.output_tokens).toBeLessThanOrEqual(ANCHOR_TOKENS_MAX);
        const [model = ''] = await two.addModels([{ protocol, modes: ['ok'] }]);
        const unbroken = await ask(two, { protocol, isStream: true, model });
        const whole = await receiptOf(two, unbroken.rid);
        // The prompt is counted by the gateway where its provider had not reported it yet.
        expect(Math.abs(charge - whole.charge)).toBeLessThanOrEqual(PROMPT_TOLERANCE);
      }
    }, 60_000);
  },
);

describe('a kept connection that the upstream has closed', () => {
  test.each(['default', 'safe'] as const)(
    'is replaced by a new one at once, also with a single upstream (%s)',
    async (policy) => {
      const seen: Seen[] = [];
      for (const protocol of PROTOCOLS) {
        const [model = ''] = await two.addModels([
          { protocol, modes: ['reset-reused'], failover: POLICIES[policy] },
        ]);
        for (const isStream of [false, true, false, true])
          seen.push(await ask(two, { protocol, model, isStream }));
      }
      note('reset of a kept connection (one upstream)', policy, seen);
      expect(seen.map(({ isWhole }) => isWhole)).not.toContain(false);
      const routes = await Promise.all(seen.map(({ rid }) => receiptOf(two, rid)));
      expect(routes.flatMap(({ route }) => route.map(({ error }) => error))).toContain('stale');
    },
    60_000,
  );
});

const BOTH = (['default', 'safe'] as const).flatMap((policy) =>
  PROTOCOLS.map((protocol) => [policy, protocol] as const),
);

describe('a provider that recovers after an outage', () => {
  test.each(BOTH)(
    'is asked again within 15 s; meanwhile the other one answers (%s, %s)',
    async (policy, protocol) => {
      const outage = await startOutage(two.tollgate.upstreamUrl);
      const model = await two.addModelAt(outage.url, protocol, POLICIES[policy]);
      const seen: Seen[] = [];
      const askOnce = async (): Promise<void> => {
        seen.push(await ask(two, { protocol, model, isStream: seen.length % 2 === 1 }));
      };
      for (let count = 0; count < 8; count += 1) await askOnce();
      // Five failures are enough to know.
      expect(outage.asked()).toBe(5);
      outage.end();
      const endedAt = Date.now();
      while (outage.asked() < 7 && Date.now() - endedAt < REST_MS_MAX) await askOnce();
      note('recovery after an outage', policy, [...seen.slice(0, 8), ...seen.slice(-2)]);
      await outage.close();
      expect(outage.asked()).toBeGreaterThanOrEqual(7);
      expect(seen.map(({ isWhole }) => isWhole)).not.toContain(false);
    },
    60_000,
  );
});

describe('two models on one provider', () => {
  test.each(BOTH)(
    'do not rest together: one fails, the other is served there (%s, %s)',
    async (policy, protocol) => {
      const failover = POLICIES[policy];
      const [broken = '', well = ''] = await two.addModels([
        { protocol, modes: ['500'], failover },
        { protocol, modes: ['ok'], failover },
      ]);
      const failed: Seen[] = [];
      for (let count = 0; count < 7; count += 1)
        failed.push(await ask(two, { protocol, model: broken, isStream: count % 2 === 1 }));
      const statuses =
        protocol === 'chat' ? { broken: 502, rests: 503 } : { broken: 500, rests: 529 };
      expect(failed.map(({ status }) => status)).toEqual([
        ...Array.from({ length: 5 }, () => statuses.broken),
        statuses.rests,
        statuses.rests,
      ]);
      const seen = [
        await ask(two, { protocol, model: well, isStream: false }),
        await ask(two, { protocol, model: well, isStream: true }),
      ];
      note('two models on one provider, one of them broken', policy, seen);
      expect(seen.map(({ isWhole }) => isWhole)).toEqual([true, true]);
    },
    60_000,
  );
});
