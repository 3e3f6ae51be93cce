import { beforeAll, expect, test } from '@jest/globals';
import { MeteringStore, primariesOf } from '@tollgate/keyspace';
import { eventually, until } from '@tollgate/harness';
import { ledgerOf, usageEvent } from '../../testing/ledger-under-test.ts';
import type { ControlPlane } from '../../testing/control-plane-under-test.ts';
import { sharedControlPlane } from '../../testing/shared-plane-under-test.ts';
import { REDIS } from '../../platform/redis/redis.module.ts';
import { UsageIngest } from '../usage/ingest/usage-ingest.service.ts';
import { UsageWorker } from '../usage/ingest/usage-worker.ts';
import { ClosedBalances } from './closed-balances.ts';
import { closingOf } from './closing-under-test.ts';

let plane: ControlPlane;
let ledger: ReturnType<typeof ledgerOf>;
let closed: ClosedBalances;
let closing: ReturnType<typeof closingOf>;
beforeAll(async () => {
  plane = await sharedControlPlane();
  ledger = ledgerOf(plane);
  closing = closingOf(plane);
  closed = plane.app.get(ClosedBalances, { strict: false });
  await ledger.initialiseShards();
}, 60_000);

const PAID_WITHIN_MS = 5_000;
const isPaid = (account: { id: number; token: string }, wallet: bigint) =>
  until('the refund', async () => (await ledger.wallet(account)) === wallet, PAID_WITHIN_MS);
/** Looks again and again instead of waiting for the regular looks. */
const isPaidByLooks = (account: { id: number; token: string }, wallet: bigint) =>
  until('the refund', async () => {
    await closed.look();
    return (await ledger.wallet(account)) === wallet;
  });

test('what a running request released is refunded within 5 s although Redis lost the event', async () => {
  const parts = await closing.closedWhileRunning();
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
  await isPaid(account, 10_000_000n - 150n);
  expect(await ledger.subscription(account, model)).toMatchObject({
    status: 'closed',
    balance: '0',
  });
  expect(await ledger.live(account, model)).toMatchObject({ balance: 0 });
  expect([await closed.look(), await closed.look()]).toEqual([0, 0]);
  expect(await ledger.violations()).toEqual({});
}, 60_000);

test('what a correction gives back after its reap was withdrawn is refunded within 5 s, also when it is booked first', async () => {
  const parts = await closing.closedWhileRunning({ usedTokens: 300, leaseMs: 1 });
  const { account, model, rid } = parts;
  const store = plane.app.get(MeteringStore);
  const who = { rid, accountId: account.id, modelId: model.id };
  // Its node is gone: 300 are charged, 100 released and withdrawn. Its final says 120.
  await eventually(async () => expect(await store.reap(who)).toMatchObject({ kind: 'reaped' }));
  const { payload } = usageEvent(120, { ...parts, rid });
  await store.settle({ ...who, chargeTokens: 120, payload, reEmit: false });
  for (const event of (await closing.relayed(account.id)).toReversed())
    await plane.app.get(UsageWorker).process([event]);
  await isPaid(account, 10_000_000n - 120n);
  expect(await ledger.live(account, model)).toMatchObject({ balance: 0 });
  expect(await ledger.violations()).toEqual({});
}, 60_000);

test('tokens that Redis shows and the ledger does not owe are never refunded', async () => {
  const { account, model, rid, subscriptionId } = await closing.closedWhileRunning();
  const { payload } = usageEvent(100, { account, model, subscriptionId, rid });
  await plane.app.get(MeteringStore).settle({
    ...{ rid, accountId: account.id, modelId: model.id, chargeTokens: 100, payload },
    reEmit: false,
  });
  // Neither the charge nor what it released is booked yet: the ledger still holds 400, Redis nothing.
  expect([await closed.look(), await closed.look()]).toEqual([0, 0]);
  expect(await ledger.wallet(account)).toBe(10_000_000n - 400n);
});

test('a final that comes after its tokens were refunded is paid out of the refund', async () => {
  const parts = await closing.closedWhileRunning({ usedTokens: 10, leaseMs: 1 });
  const { account, model } = parts;
  await closing.finalAfterReap(parts, 100);
  await isPaidByLooks(account, 10_000_000n - 100n);
  const settled = { status: 'closed', balance: '0', overdraft: '0' };
  expect(await ledger.subscription(account, model)).toMatchObject(settled);
  await eventually(async () =>
    expect(await ledger.live(account, model)).toMatchObject({ balance: 0, status: 'closed' }),
  );
  expect(await ledger.violations()).toEqual({});
}, 60_000);

test('the house pays what exceeds the refund', async () => {
  const parts = await closing.closedWhileRunning({ leaseMs: 1 });
  const { account, model } = parts;
  await closing.finalAfterReap(parts, 1_500);
  await isPaidByLooks(account, 10_000_000n - 1_000n);
  await closed.look();
  await closed.look();
  expect(await ledger.wallet(account)).toBe(10_000_000n - 1_000n);
  expect(await ledger.subscription(account, model)).toMatchObject({ overdraft: '500' });
  expect(await ledger.violations()).toEqual({});
}, 60_000);

test('what the wallet does not have is paid when it has it', async () => {
  const parts = await closing.closedWhileRunning({ leaseMs: 1 });
  const { account, model } = parts;
  const other = await ledger.model('1');
  const spend = (path: '/models/subscribe' | '/models/unsubscribe', more: object) =>
    plane.call('POST', path, { token: account.token, body: { model_id: other.id, ...more } });
  await closing.finalAfterReap(parts, 100, () =>
    spend('/models/subscribe', { tokens: 10_000_000 - 40 }),
  );
  await closed.look();
  await closed.look();
  expect(await ledger.wallet(account)).toBe(40n);
  await spend('/models/unsubscribe', {});
  await isPaidByLooks(account, 10_000_000n - 100n);
  expect(await ledger.subscription(account, model)).toMatchObject({ overdraft: '0' });
  expect(await ledger.violations()).toEqual({});
}, 60_000);
