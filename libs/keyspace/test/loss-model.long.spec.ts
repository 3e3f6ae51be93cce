import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startServices, type Services } from '@tollgate/harness';
import fc from 'fast-check';
import { lossSequences, type LossCommand } from './loss-commands.ts';
import { runLosses } from './loss-run.ts';
import { openWorld, type World } from './world.ts';

const BATCH = 20;
const SEQUENCES = Number(process.env.MODEL_SEQUENCES ?? 1_000);
/** Allows for a machine with other work. */
const SEQUENCE_MS_MAX = 200;
const SEED = Number(process.env.MODEL_SEED ?? 20_261_121);

let services: Services;
let world: World;

beforeAll(async () => {
  services = await startServices({ postgres: false });
  world = await openWorld(services.redisUrl);
});
afterAll(async () => {
  world?.close();
  await services?.stop();
});

test(
  'each request is charged once, and Redis agrees with the ledger, however often Redis loses everything while holds are restored, reaped and settled in any order',
  async () => {
    const seen = new Map<string, number>();
    const batches = fc.array(lossSequences, { minLength: BATCH, maxLength: BATCH });
    const property = fc.asyncProperty(batches, async (batch) => {
      await Promise.all(
        batch.map(async (sequence) => runLosses(await world.tenant(), sequence, seen)),
      );
    });
    await fc.assert(property, { numRuns: Math.ceil(SEQUENCES / BATCH), seed: SEED });
    // A run that never gets here would agree with anything.
    for (const reply of REACHED) expect([reply, seen.get(reply) ?? 0]).not.toEqual([reply, 0]);
  },
  Math.max(600_000, SEQUENCES * SEQUENCE_MS_MAX),
);

test('a hold that was restored although it was still open has the lease its node counts on: it is not reaped before a loss after which it is restored again', async () => {
  const half: LossCommand = { type: 'advance', ms: 30_000 };
  const restore: LossCommand = { type: 'restore', nth: 0, fate: 'arrives' };
  const booked: LossCommand[] = [
    { type: 'reap' },
    { type: 'relay' },
    { type: 'book', nth: 0, isAgain: false },
  ];
  const seen = new Map<string, number>();
  await runLosses(
    await world.tenant(),
    [
      { type: 'admit' },
      half,
      restore,
      half,
      ...booked,
      { type: 'lose' },
      restore,
      { type: 'end', nth: 0, used: 80 },
    ],
    seen,
  );
  expect(Object.fromEntries(seen)).toMatchObject({
    'restore:restored': 2,
    'reap:alive': 1,
    'settle:open': 1,
  });
});

const REACHED = [
  'restore:restored',
  'restore:gone',
  'restore:fenced',
  'settle:open',
  'settle:none',
  'settle:reaped',
  'settle:duplicate',
  'settle:fenced',
  'reap:reaped',
  'reap:not_open',
];
