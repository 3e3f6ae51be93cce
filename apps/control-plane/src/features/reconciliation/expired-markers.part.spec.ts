import { beforeAll, expect, test } from '@jest/globals';
import { parseApiKey } from '@tollgate/contracts';
import { eventually, until } from '@tollgate/harness';
import { MeteringStore } from '@tollgate/keyspace';
import type { ControlPlane } from '../../testing/control-plane-under-test.ts';
import { ledgerOf, usageEvent } from '../../testing/ledger-under-test.ts';
import { sharedControlPlane } from '../../testing/shared-plane-under-test.ts';
import { uuidv7 } from '../../platform/http/visitor.ts';
import { REDIS } from '../../platform/redis/redis.module.ts';
import { UsageWorker } from '../usage/ingest/usage-worker.ts';
import { ClosedBalances } from './closed-balances.ts';
import { closingOf } from './closing-under-test.ts';
import { Reconciler } from './reconciler.service.ts';

const BOUGHT = 1_000;
const CHARGE = 100;
/** For so long a clock is ahead in these tests. The markers of plain settlements are kept for 15 minutes. */
const AHEAD_MS = 24 * 60_000;

let plane: ControlPlane;
let ledger: ReturnType<typeof ledgerOf>;
let closing: ReturnType<typeof closingOf>;
let store: MeteringStore;
beforeAll(async () => {
  plane = await sharedControlPlane();
  ledger = ledgerOf(plane);
  closing = closingOf(plane);
  store = plane.app.get(MeteringStore);
  await ledger.initialiseShards();
}, 60_000);

const round = () => plane.app.get(Reconciler, { strict: false }).runAlone({ pauseMs: 50 });

async function book(accountId: number): Promise<void> {
  const events = await closing.relayed(accountId);
  await plane.app.get(UsageWorker).process(events);
  const relayedIds = events.map(({ outboxId }) => outboxId);
  await store.releaseRelay(store.shardOf(accountId), { owner: 'spec', relayedIds });
}

/** A final that is settled and booked, comes again after a clock that was ahead for a moment expired its marker, and is relayed again. */
async function settledTwice() {
  const { account, model } = await closing.customer();
  const call = <Path extends string>(path: Path, body: object) =>
    plane.call('POST', path, { token: account.token, body });
  await call('/models/subscribe', { model_id: model.id, tokens: BOUGHT });
  const { body: key } = await call('/keys', { name: 'a' });
  const rid = uuidv7(Date.now());
  const who = { rid, accountId: account.id, modelId: model.id };
  const asked = {
    ...{ ...who, keyHash: parseApiKey(key.key)?.hash ?? '', modelName: model.name },
    ...{ priceVersionId: model.priceId, addressHex: '', node: 'node-a:0', concurrencyMax: 0 },
    ...{ wantTokens: 400, minTokens: 400, leaseMs: 60_000 },
  };
  await eventually(async () =>
    expect(await store.admit(asked)).toMatchObject({ kind: 'admitted' }),
  );
  const { id } = await ledger.subscription(account, model);
  const { payload } = usageEvent(CHARGE, { account, model, subscriptionId: id, rid });
  const final = { ...who, chargeTokens: CHARGE, payload, reEmit: true };
  expect(await store.settle(final)).toMatchObject({ kind: 'settled' });
  await book(account.id);
  const redis = plane.app.get(REDIS);
  const marker = `{${store.shardOf(account.id)}}:hold:${rid}`;
  expect(await redis.pttl(marker)).toBeLessThan(AHEAD_MS);
  await redis.del(marker);
  expect(await store.settle(final)).toMatchObject({ kind: 'settled' });
  await book(account.id);
  return { account, model, rid, id: Number(id) };
}

test('a final that Redis debits twice as its marker expired early is charged once, and the next round gives the tokens back, with an alert', async () => {
  const { account, model, rid, id } = await settledTwice();
  expect(await ledger.live(account, model)).toMatchObject({ balance: BOUGHT - 2 * CHARGE });
  expect(
    await ledger.query('SELECT seq, delta::int FROM usage_events WHERE rid = $1', [rid]),
  ).toEqual([{ seq: 0, delta: CHARGE }]);
  await round();
  await eventually(async () =>
    expect(await ledger.live(account, model)).toMatchObject({ balance: BOUGHT - CHARGE, held: 0 }),
  );
  const alerts = await ledger.query(
    "SELECT message FROM alerts WHERE rule = 'drift' AND subject = $1",
    [`subscription:${id}`],
  );
  expect(alerts).toEqual([
    {
      message: `Subscription ${id}: Redis was ${CHARGE} tokens below the ledger; it has been repaired`,
    },
  ]);
  await round();
  const repairs = await ledger.query(
    "SELECT delta::int FROM token_credits WHERE subscription_id = $1 AND kind = 'reconciliation'",
    [id],
  );
  expect(repairs).toEqual([{ delta: CHARGE }]);
  expect(await ledger.violations()).toEqual({});
}, 60_000);

test('who unsubscribes before that round is refunded the rest after it', async () => {
  const { account, model } = await settledTwice();
  await plane.call('POST', '/models/unsubscribe', {
    token: account.token,
    body: { model_id: model.id },
  });
  const whole = 10_000_000n - BigInt(CHARGE);
  expect(await ledger.wallet(account)).toBe(whole - BigInt(CHARGE));
  await book(account.id);
  await round();
  const closed = plane.app.get(ClosedBalances, { strict: false });
  await until('the refund', async () => {
    await closed.look();
    return (await ledger.wallet(account)) === whole;
  });
  expect(await ledger.subscription(account, model)).toMatchObject({
    status: 'closed',
    balance: '0',
  });
  expect(await ledger.violations()).toEqual({});
}, 60_000);
