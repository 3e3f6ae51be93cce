import { beforeAll, expect, test } from '@jest/globals';
import { parseApiKey, type RelayedEvent } from '@tollgate/contracts';
import { MeteringStore, primariesOf } from '@tollgate/keyspace';
import { eventually } from '@tollgate/harness';
import { ledgerOf, usageEvent } from '../../testing/ledger-under-test.ts';
import type { ControlPlane } from '../../testing/control-plane-under-test.ts';
import { sharedControlPlane } from '../../testing/shared-plane-under-test.ts';
import { REDIS } from '../../platform/redis/redis.module.ts';
import { uuidv7 } from '../../platform/http/visitor.ts';
import { UsageIngest } from '../usage/ingest/usage-ingest.service.ts';
import { UsageWorker } from '../usage/ingest/usage-worker.ts';
import { ClosedBalances } from './closed-balances.ts';

let plane: ControlPlane;
let ledger: ReturnType<typeof ledgerOf>;
let closed: ClosedBalances;
beforeAll(async () => {
  plane = await sharedControlPlane();
  ledger = ledgerOf(plane);
  closed = plane.app.get(ClosedBalances, { strict: false });
  await ledger.initialiseShards();
}, 60_000);

/** 1,000 tokens bought for 1,000 micro-units, 400 of them held by a running request when the account unsubscribes. */
async function closedWhileRunning({ usedTokens = 0, leaseMs = 60_000 } = {}) {
  const [account, model] = [await ledger.account('10'), await ledger.model('1')];
  const call = <Path extends string>(path: Path, body: object) =>
    plane.call('POST', path, { token: account.token, body });
  await call('/models/subscribe', { model_id: model.id, tokens: 1_000 });
  const { body: key } = await call('/keys', { name: 'a' });
  const rid = uuidv7(Date.now());
  const keyHash = parseApiKey(key.key)?.hash ?? '';
  const store = plane.app.get(MeteringStore);
  const asked = {
    ...{ rid, accountId: account.id, keyHash, modelId: model.id },
    ...{ modelName: model.name, priceVersionId: model.priceId, addressHex: '', node: 'node-a:0' },
    ...{ wantTokens: 400, minTokens: 400, concurrencyMax: 10, leaseMs: 60_000 },
  };
  // A shard that an earlier test lost admits once its restored holds had their time.
  await eventually(async () =>
    expect(await store.admit(asked)).toMatchObject({ kind: 'admitted' }),
  );
  const progress = {
    ...{ rid, accountId: account.id, modelId: model.id, keyHash },
    ...{ node: 'node-a:0', extendTokens: 0 },
  };
  await store.checkpoint({ ...progress, usedTokens, leaseMs });
  await call('/models/unsubscribe', { model_id: model.id });
  expect(await ledger.wallet(account)).toBe(10_000_000n - 400n);
  const { id } = await ledger.subscription(account, model);
  return { account, model, rid, subscriptionId: id as number };
}

/** What the account's shard has in its outbox, as a relay reads it. */
async function relayed(accountId: number): Promise<RelayedEvent[]> {
  const store = plane.app.get(MeteringStore);
  const reply = await store.relay(store.shardOf(accountId), {
    ...{ owner: 'spec', leaseMs: 60_000, relayedIds: [] },
    ...{ entriesMax: 500, bytesMax: 10_000_000, expiredHoldsMax: 0 },
  });
  return reply.kind === 'leased' ? reply.entries : [];
}

test('what a running request released is refunded although Redis lost the event', async () => {
  const parts = await closedWhileRunning();
  const { account, model, rid } = parts;
  expect([await closed.look(), await closed.look()]).toEqual([0, 0]);
  // Redis is lost before the settlement was relayed; the node hands its final over.
  await Promise.all(primariesOf(plane.app.get(REDIS)).map((primary) => primary.flushall()));
  await eventually(async () =>
    expect(await ledger.live(account, model)).toMatchObject({ balance: 400, held: 0 }),
  );
  await plane.app
    .get(UsageIngest)
    .ingest([{ ...usageEvent(150, { ...parts, rid }), shard: '', outboxId: '' }], {
      fromJournal: true,
    });
  await eventually(async () =>
    expect(await ledger.live(account, model)).toMatchObject({ balance: 250 }),
  );
  expect(await closed.look()).toBe(0);
  expect(await closed.look()).toBe(1);
  await eventually(async () => expect(await ledger.wallet(account)).toBe(10_000_000n - 150n));
  expect(await ledger.subscription(account, model)).toMatchObject({
    status: 'closed',
    balance: '0',
  });
  expect(await ledger.live(account, model)).toMatchObject({ balance: 0 });
  expect([await closed.look(), await closed.look()]).toEqual([0, 0]);
  expect(await ledger.violations()).toEqual({});
}, 60_000);

test('what a correction gives back after its reap was withdrawn is refunded, also when it is booked first', async () => {
  const parts = await closedWhileRunning({ usedTokens: 300, leaseMs: 1 });
  const { account, model, rid } = parts;
  const store = plane.app.get(MeteringStore);
  const who = { rid, accountId: account.id, modelId: model.id };
  // Its node is gone: 300 are charged, 100 released and withdrawn. Its final says 120.
  await eventually(async () => expect(await store.reap(who)).toMatchObject({ kind: 'reaped' }));
  const { payload } = usageEvent(120, { ...parts, rid });
  await store.settle({ ...who, chargeTokens: 120, payload, reEmit: false });
  for (const event of (await relayed(account.id)).toReversed())
    await plane.app.get(UsageWorker).process([event]);
  expect(await ledger.wallet(account)).toBe(10_000_000n - 300n);
  expect([await closed.look(), await closed.look()]).toEqual([0, 1]);
  await eventually(async () => expect(await ledger.wallet(account)).toBe(10_000_000n - 120n));
  expect(await ledger.live(account, model)).toMatchObject({ balance: 0 });
  expect(await ledger.violations()).toEqual({});
}, 60_000);

test('tokens that Redis shows and the ledger does not owe are never refunded', async () => {
  const { account, model, rid, subscriptionId } = await closedWhileRunning();
  const { payload } = usageEvent(100, { account, model, subscriptionId, rid });
  await plane.app.get(MeteringStore).settle({
    ...{ rid, accountId: account.id, modelId: model.id, chargeTokens: 100, payload },
    reEmit: false,
  });
  // Neither the charge nor what it released is booked yet: the ledger still holds 400, Redis nothing.
  expect([await closed.look(), await closed.look()]).toEqual([0, 0]);
  expect(await ledger.wallet(account)).toBe(10_000_000n - 400n);
});
