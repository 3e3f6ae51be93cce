import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { parseApiKey } from '@tollgate/contracts';
import { MeteringStore, shardNames, type RedisConnection } from '@tollgate/keyspace';
import { eventually } from '@tollgate/harness';
import { ledgerOf, type TestAccount } from '../../testing/ledger-under-test.ts';
import type { ControlPlane } from '../../testing/control-plane-under-test.ts';
import { sharedControlPlane } from '../../testing/shared-plane-under-test.ts';
import { keysOf } from '../../testing/drift-under-test.ts';
import { REDIS } from '../../platform/redis/redis.module.ts';
import { uuidv7 } from '../../platform/http/visitor.ts';
import { Reconciler } from './reconciler.service.ts';

const BOUGHT = 10_000;

let plane: ControlPlane;
let ledger: ReturnType<typeof ledgerOf>;
let redis: RedisConnection;
let reconciler: Reconciler;
let account: TestAccount;
let model: Awaited<ReturnType<typeof ledger.model>>;
let subscription: { id: number; accountId: number; modelId: number };
let record = '';

const buy = (how: 'subscribe' | 'renew'): Promise<unknown> =>
  plane.call('POST', `/models/${how}`, {
    token: account.token,
    body: { model_id: model.id, tokens: BOUGHT },
  });
const live = (): Promise<object | null> => ledger.live(account, model);
/** Does at once what the guard does seconds after a use. */
const looked = (): Promise<number | null> => reconciler.takeDown([subscription], { pauseMs: 10 });
const drift = (): Promise<{ severity: string; message: string; isOpen: boolean }[]> =>
  ledger.query(
    `SELECT severity, message, resolved_at IS NULL AS "isOpen" FROM alerts WHERE rule = 'drift' AND subject = $1`,
    [`subscription:${subscription.id}`],
  );
const raised = (message: string) => [
  { severity: 'critical', message: expect.stringContaining(message), isOpen: true },
];

/** Starts a request and lets it run. */
async function running(tokens: number): Promise<{ rid: string; keyHash: string }> {
  const { body } = await plane.call('POST', '/keys', {
    token: account.token,
    body: { name: uuidv7(Date.now()) },
  });
  const [rid, keyHash] = [uuidv7(Date.now()), parseApiKey(body.key)?.hash ?? ''];
  const admitted = await plane.app.get(MeteringStore).admit({
    ...{ rid, accountId: account.id, modelId: model.id },
    ...{ keyHash, modelName: model.name },
    ...{ priceVersionId: model.priceId, addressHex: '', node: 'node-a:0' },
    ...{ wantTokens: tokens, minTokens: tokens, concurrencyMax: 10, leaseMs: 60_000 },
  });
  expect(admitted.kind).toBe('admitted');
  return { rid, keyHash };
}

describe('S54: what Redis counts beside a balance', () => {
  beforeAll(async () => {
    plane = await sharedControlPlane();
    ledger = ledgerOf(plane);
    redis = plane.app.get(REDIS);
    reconciler = plane.app.get(Reconciler, { strict: false });
    await ledger.initialiseShards();
    // No relay runs here: what other specs left in the outboxes would be waited for.
    for (const shard of shardNames(Number(plane.environment['SHARDS'])))
      await redis.xtrim(`{${shard}}:outbox`, 'MAXLEN', 0);
  }, 60_000);

  beforeEach(async () => {
    [account, model] = [await ledger.account('1000'), await ledger.model('1')];
    await buy('subscribe');
    const { id } = await ledger.subscription(account, model);
    subscription = { id, accountId: account.id, modelId: model.id };
    record = keysOf(plane, account.id, model.id);
  });

  describe('a credit number that was raised', () => {
    test('is set back, and hides no minted tokens: they are taken out after their first use, with a critical alert', async () => {
      await redis.hset(record, { bal: '50000000', cseq: '900' });
      expect(await looked()).toBe(1);
      expect(await drift()).toEqual(raised('above the ledger'));
      expect(await live()).toMatchObject({ balance: BOUGHT, creditSeq: 2 });
      expect(await ledger.violations()).toEqual({});
    });

    test('alone is set back with a critical alert, which closes when the next round finds it right', async () => {
      await redis.hset(record, 'cseq', '900');
      expect(await looked()).toBe(1);
      expect(await live()).toMatchObject({ balance: BOUGHT, creditSeq: 1 });
      expect(await drift()).toEqual(raised('Redis counted 900 credits'));
      await reconciler.runAlone({ pauseMs: 10 });
      expect(await drift()).toEqual([expect.objectContaining({ isOpen: false })]);
    });

    test('keeps no purchase from its buyer: what was swallowed is added after the next look', async () => {
      await redis.hset(record, 'cseq', '900');
      await buy('renew');
      expect(await looked()).toBe(1);
      expect(await live()).toMatchObject({ balance: 2 * BOUGHT, creditSeq: 3 });
    });

    test('is found by the reconciliation where nothing was used', async () => {
      await redis.hset(record, 'cseq', '900');
      // A look at what was used before may be under way; a round waits for none.
      await eventually(async () => {
        await reconciler.runAlone({ pauseMs: 10 });
        expect(await live()).toMatchObject({ balance: BOUGHT, creditSeq: 1 });
      });
      expect(await drift()).toEqual(raised('Redis counted 900 credits'));
    });
  });

  describe('what requests hold', () => {
    test('is recounted when it was lowered, with a critical alert', async () => {
      await running(6_000);
      await redis.hset(record, { held: '0', conc: '0' });
      await reconciler.recount([subscription]);
      expect(await live()).toMatchObject({ held: 6_000, running: 1 });
      expect(await drift()).toEqual(raised('Redis had 0 tokens held'));
    });

    test('is recounted by the reconciliation where nothing was used', async () => {
      await running(6_000);
      await redis.hset(record, { held: '1' });
      await reconciler.runAlone({ pauseMs: 10 });
      expect(await live()).toMatchObject({ held: 6_000, running: 1 });
      expect(await drift()).toEqual(raised('Redis had 1 tokens held'));
    });

    test('is left alone where it is right', async () => {
      await running(6_000);
      await reconciler.recount([subscription]);
      await reconciler.runAlone({ pauseMs: 10 });
      expect(await live()).toMatchObject({ held: 6_000, running: 1 });
      expect(await drift()).toEqual([]);
    });
  });

  test('a balance that cannot be read is rewritten, and keeps no other from being compared', async () => {
    const other = { ...subscription, record };
    await running(6_000);
    [account, model] = [await ledger.account('1000'), await ledger.model('1')];
    await buy('subscribe');
    const { id } = await ledger.subscription(account, model);
    await redis.hset(other.record, { bal: '50000000', cseq: 'many' });
    await redis.hincrby(keysOf(plane, account.id, model.id), 'bal', 5);
    await reconciler.runAlone({ pauseMs: 10 });
    expect(await drift()).toEqual(raised('could not be read'));
    const [kept] = await redis.hmget(other.record, 'bal');
    expect(kept).toBe(String(BOUGHT));
    expect(await redis.hmget(other.record, 'held', 'conc', 'cseq')).toEqual(['6000', '1', '1']);
    subscription = { id, accountId: account.id, modelId: model.id };
    expect(await drift()).toEqual(raised('5 tokens above'));
  });
});
