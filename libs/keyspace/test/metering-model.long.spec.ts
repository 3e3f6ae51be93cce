import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startServices, type Services } from '@tollgate/harness';
import fc from 'fast-check';
import { sequences } from './model-commands.ts';
import { runSequence } from './model-run.ts';
import type { Seen } from './compared-stores.ts';
import { openWorld, type World } from './world.ts';

/** Sequences of a batch run at the same time, each on a shard of its own. */
const BATCH = 20;
const SEQUENCES = Number(process.env.MODEL_SEQUENCES ?? 2_000);
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
  'the functions answer and remember exactly what a plain model does, whatever happens in whatever order',
  async () => {
    const seen: Seen = new Map();
    const batches = fc.array(sequences, { minLength: BATCH, maxLength: BATCH });
    const property = fc.asyncProperty(batches, async (batch) => {
      await Promise.all(
        batch.map(async (sequence) => runSequence(await world.tenant(), sequence, seen)),
      );
    });
    const numRuns = Math.ceil(SEQUENCES / BATCH);
    // Batches shrink for longer than the test may last.
    await fc.assert(property, { numRuns, seed: SEED, endOnFailure: true });
    if (process.env.MODEL_SHOW)
      console.log(
        JSON.stringify(
          Object.fromEntries([...seen].toSorted(([a], [b]) => (a < b ? -1 : 1))),
          null,
          1,
        ),
      );
    for (const reply of REACHED) expect([reply, seen.get(reply) ?? 0]).not.toEqual([reply, 0]);
  },
  Math.max(600_000, SEQUENCES * SEQUENCE_MS_MAX),
);

/** A model that never gets here would agree with anything. */
const REACHED = [
  ...[
    'admitted',
    'duplicate',
    'key_unknown',
    'key_disabled',
    'key_expired',
    'address_not_allowed',
    'account_not_active',
    'model_not_allowed',
  ].map((kind) => `admit:${kind}`),
  ...[
    'not_subscribed',
    'subscription_closing',
    'concurrency_exceeded',
    'rate_limited',
    'balance_too_low',
    'tokens_held',
    'recharge_due',
  ].map((kind) => `admit:${kind}`),
  ...['ok', 'stop', 'gone'].map((kind) => `checkpoint:${kind}`),
  ...['restored', 'gone'].map((kind) => `restore:${kind}`),
  ...['settled', 'duplicate', 'fenced'].map((kind) => `settle:${kind}`),
  ...['reaped', 'alive', 'not_open'].map((kind) => `reap:${kind}`),
  ...['applied', 'duplicate', 'gap'].map((kind) => `credit:${kind}`),
  ...['withdrawn', 'duplicate', 'behind', 'not_found'].map((kind) => `withdraw:${kind}`),
  ...['repeated', 'duplicate', 'not_found'].map((kind) => `repeatWithdrawal:${kind}`),
  ...['repeated', 'duplicate', 'open', 'too_old', 'not_found'].map(
    (kind) => `repeatRelease:${kind}`,
  ),
  ...['sent', 'not_found'].map((kind) => `repeatReap:${kind}`),
  'fence:fenced',
  ...['putKey:stale', 'putAccount:stale', 'putSubscription:stale', 'access:allowed'],
];
