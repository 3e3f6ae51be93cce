import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startServices, type Services } from '@tollgate/harness';
import fc from 'fast-check';
import { lossSequences, runLosses } from './loss-run.ts';
import { openWorld, type World } from './world.ts';

const BATCH = 20;
const SEQUENCES = Number(process.env.MODEL_SEQUENCES ?? 1_000);
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
  'each request is charged once, and Redis agrees with the books, however often Redis loses everything while holds are restored, reaped and settled in any order',
  async () => {
    const seen = new Map<string, number>();
    const batches = fc.array(lossSequences, { minLength: BATCH, maxLength: BATCH });
    const property = fc.asyncProperty(batches, async (batch) => {
      await Promise.all(batch.map(async (sequence) => runLosses(await world.tenant(), sequence, seen)));
    });
    await fc.assert(property, { numRuns: Math.ceil(SEQUENCES / BATCH), seed: SEED });
    // A run that never gets here would agree with anything.
    for (const reply of REACHED) expect([reply, seen.get(reply) ?? 0]).not.toEqual([reply, 0]);
  },
  600_000,
);

const REACHED = ['restore:restored', 'restore:gone', 'restore:fenced', 'settle:open', 'settle:none', 'settle:reaped', 'settle:duplicate', 'settle:fenced', 'reap:reaped', 'reap:not_open'];
