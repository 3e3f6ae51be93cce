import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { parseApiKey } from '@tollgate/contracts';
import { MeteringStore } from '@tollgate/keyspace';
import { loadConfig } from '../../config.ts';
import { createApp } from '../../create-app.ts';
import { uuidv7 } from '../../platform/http/visitor.ts';
import { createPino } from '../../platform/logging/logger.ts';
import { ledgerOf, usageEvent } from '../../testing/ledger-under-test.ts';
import type { ControlPlane } from '../../testing/control-plane-under-test.ts';
import { sharedControlPlane } from '../../testing/shared-plane-under-test.ts';
import { eventually } from '../../testing/eventually.ts';
import { keysOf } from '../../testing/drift-under-test.ts';
import { REDIS } from '../../platform/redis/redis.module.ts';
import { AutoRechargeService } from './auto-recharge.service.ts';

let plane: ControlPlane;
let replica: NestExpressApplication;
let ledger: ReturnType<typeof ledgerOf>;
let services: AutoRechargeService[];
beforeAll(async () => {
  plane = await sharedControlPlane();
  ledger = ledgerOf(plane);
  await ledger.initialiseShards();
  replica = await createApp(loadConfig(plane.environment), createPino('silent'));
  await replica.init();
  services = [plane.app.get(AutoRechargeService), replica.get(AutoRechargeService)];
}, 60_000);
afterAll(async () => {
  await replica?.close();
});

const post = (path: string, token: string, body: object) =>
  plane.call('POST', path, { token, body });
const purchases = async (id: number) =>
  (
    await ledger.query(
      "SELECT count(*)::int AS n FROM token_credits WHERE subscription_id = $1 AND kind = 'auto_recharge'",
      [id],
    )
  )[0].n;

async function subscribed(
  money: string,
  auto: { threshold: number; amount: number },
  tokens = 1_000,
) {
  const [account, model] = [await ledger.account(money), await ledger.model('1')];
  const body = {
    model_id: model.id,
    tokens,
    auto_recharge_threshold: auto.threshold,
    auto_recharge_amount: auto.amount,
  };
  const { body: subscription } = await post('/models/subscribe', account.token, body);
  return { account, model, id: subscription.id as number };
}

type Subscribed = Awaited<ReturnType<typeof subscribed>>;

/** Uses tokens as a node does: admit, then settle. */
async function use(one: Subscribed, tokens: number): Promise<void> {
  const rid = await hold(one, tokens);
  const { account, model, id } = one;
  const { payload } = usageEvent(tokens, { account, model, subscriptionId: id, rid });
  await plane.app.get(MeteringStore).settle({
    rid,
    accountId: account.id,
    modelId: model.id,
    chargeTokens: tokens,
    payload,
    reEmit: false,
  });
}

async function hold({ account, model }: Subscribed, tokens: number): Promise<string> {
  const { body } = await post('/keys', account.token, { name: 'k' });
  const rid = uuidv7(Date.now());
  const store = plane.app.get(MeteringStore);
  const who = { rid, accountId: account.id, modelId: model.id };
  const request = {
    keyHash: parseApiKey(body.key)?.hash ?? '',
    modelName: model.name,
    priceVersionId: model.priceId,
    wantTokens: tokens,
    minTokens: 1,
    addressHex: '',
    concurrencyMax: 0,
    leaseMs: 60_000,
    node: 'n:0',
  };
  expect((await store.admit({ ...who, ...request })).kind).toBe('admitted');
  return rid;
}

test('one need is one purchase, however many settles and replicas see it', async () => {
  const one = await subscribed('10', { threshold: 100, amount: 5_000 });
  await use(one, 950);
  for (let turn = 0; turn < 20; turn += 1)
    for (const service of services) service.consider([one.id]);
  await Promise.all(services.map((service) => service.idle()));
  await eventually(async () =>
    expect(await ledger.live(one.account, one.model)).toMatchObject({ balance: 5_050 }),
  );
  expect(await purchases(one.id)).toBe(1);
});

test('it buys again until the level is above the threshold', async () => {
  const one = await subscribed('10', { threshold: 100, amount: 30 }, 0);
  await eventually(async () =>
    expect(await ledger.live(one.account, one.model)).toMatchObject({ balance: 120, creditSeq: 4 }),
  );
  await Promise.all(services.map((service) => service.idle()));
  expect(await purchases(one.id)).toBe(4);
});

test('switching it on looks at once; amount 0 and null are off', async () => {
  const one = await subscribed('10', { threshold: 100, amount: 0 }, 10);
  const { account, model, id } = one;
  expect(
    (
      await post('/models/set-auto-recharge', account.token, {
        model_id: model.id,
        threshold: null,
        amount: null,
      })
    ).body,
  ).toMatchObject({ auto_recharge_threshold: null, auto_recharge_amount: null });
  await services[0]?.idle();
  expect(await purchases(id)).toBe(0);
  expect(
    (
      await post('/models/set-auto-recharge', account.token, {
        model_id: model.id,
        threshold: 10,
        amount: 500,
      })
    ).body,
  ).toMatchObject({ auto_recharge_threshold: 10, auto_recharge_amount: 500 });
  await eventually(async () =>
    expect(await ledger.live(account, model)).toMatchObject({ balance: 510 }),
  );
  expect(
    await post('/models/set-auto-recharge', account.token, {
      model_id: model.id,
      threshold: 10,
      amount: null,
    }),
  ).toMatchObject({ status: 400 });
  expect(
    await post('/models/set-auto-recharge', account.token, {
      model_id: 999_999,
      threshold: 1,
      amount: 1,
    }),
  ).toMatchObject({ status: 404 });
});

test('a wallet too small raises an alert and backs off; once it is filled the purchase follows and the alert goes', async () => {
  const one = await subscribed('0', { threshold: 100, amount: 1_000_000 }, 0);
  const alerts = () =>
    ledger.query(
      "SELECT resolved_at IS NULL AS open FROM alerts WHERE rule = 'auto_recharge_failed' AND subject = $1",
      [`subscription:${one.id}`],
    );
  await eventually(async () => expect(await alerts()).toEqual([{ open: true }]));
  for (let turn = 0; turn < 5; turn += 1) services[0]?.consider([one.id]);
  await services[0]?.idle();
  expect((await ledger.subscription(one.account, one.model)).auto_recharge_failures).toBe(1);
  await ledger.asAdmin('POST', '/wallet/admin-recharge', { user_id: one.account.id, amount: '1' });
  await eventually(async () =>
    expect(await ledger.live(one.account, one.model)).toMatchObject({ balance: 1_000_000 }),
  );
  expect(await alerts()).toEqual([{ open: false }]);
  expect(await purchases(one.id)).toBe(1);
});

test('a purchase refused for another reason than money backs off too, though the wallet could pay', async () => {
  const one = await subscribed('10', { threshold: 100, amount: 0 });
  await ledger.asAdmin('POST', '/models/pricing', {
    model_id: one.model.id,
    price_per_million: '0',
    free: true,
  });
  await ledger.query(
    'UPDATE subscriptions SET auto_recharge_threshold = 2000, auto_recharge_amount = 9007199254740991 WHERE id = $1',
    [one.id],
  );
  const failures = async () => {
    services[0]?.consider([one.id]);
    await services[0]?.idle();
    return (await ledger.subscription(one.account, one.model)).auto_recharge_failures;
  };
  const first = await failures();
  expect(first).toBeGreaterThan(0);
  expect([await failures(), await failures(), await failures()]).toEqual([first, first, first]);
  await ledger.query('UPDATE subscriptions SET auto_recharge_amount = 0 WHERE id = $1', [one.id]);
});

test('one that cannot be recharged keeps no other from being served in the same round, and says why', async () => {
  const [unreadable, stuck, refused, served] = [
    await subscribed('10', { threshold: 100, amount: 0 }),
    await subscribed('10', { threshold: 100, amount: 0 }),
    await subscribed('10', { threshold: 100, amount: 0 }),
    await subscribed('10', { threshold: 100, amount: 0 }),
  ];
  // `stuck` fails as a lost connection or a bug would, `refused` with an error that the caller may see: no subscription counts more than 2^53 tokens.
  await ledger.query(
    'UPDATE subscriptions SET auto_recharge_threshold = 2000, auto_recharge_amount = CASE WHEN id = $1 THEN 9007199254740991 ELSE 5000 END, credit_seq = CASE WHEN id = $2 THEN 0 ELSE 1 END WHERE id = ANY($3)',
    [refused.id, stuck.id, [stuck.id, refused.id, served.id]],
  );
  await plane.app.get(REDIS).hset(keysOf(plane, stuck.account.id, stuck.model.id), 'cseq', 0);
  // Beyond what a number counts exactly; only a hand in the database writes it.
  await ledger.query(
    'UPDATE subscriptions SET auto_recharge_threshold = 9223372036854775807, auto_recharge_amount = 1 WHERE id = $1',
    [unreadable.id],
  );
  services[0]?.consider([unreadable.id, stuck.id, refused.id, served.id]);
  await services[0]?.idle();
  expect([
    await purchases(unreadable.id),
    await purchases(stuck.id),
    await purchases(refused.id),
    await purchases(served.id),
  ]).toEqual([0, 0, 0, 1]);
  expect(
    await ledger.query(
      "SELECT message FROM alerts WHERE rule = 'auto_recharge_failed' AND resolved_at IS NULL AND subject = $1",
      [`subscription:${refused.id}`],
    ),
  ).toEqual([{ message: expect.stringContaining('tokens') }]);
  await ledger.query(
    'UPDATE subscriptions SET credit_seq = 1, auto_recharge_amount = 0, auto_recharge_threshold = 0 WHERE id = ANY($1)',
    [[unreadable.id, stuck.id, refused.id]],
  );
  await plane.app.get(REDIS).hset(keysOf(plane, stuck.account.id, stuck.model.id), 'cseq', 1);
});

test('a refusal for funds is looked at though nothing settles: held tokens count as used', async () => {
  const one = await subscribed('10', { threshold: 100, amount: 5_000 });
  await hold(one, 950);
  await services[0]?.considerRefused([
    { accountId: one.account.id, modelId: one.model.id, neededTokens: 0 },
    { accountId: 999_999, modelId: 1, neededTokens: 0 },
  ]);
  await eventually(async () =>
    expect(await ledger.live(one.account, one.model)).toMatchObject({ balance: 6_000, held: 950 }),
  );
});

test('above the threshold only a balance below what a request needs at the least is a need; what holds take is none', async () => {
  const one = await subscribed('10', { threshold: 10, amount: 5_000 });
  const refuse = async (neededTokens: number): Promise<number> => {
    const [accountId, modelId] = [one.account.id, one.model.id];
    await services[0]?.considerRefused([{ accountId, modelId, neededTokens }]);
    await services[0]?.idle();
    return purchases(one.id);
  };
  await hold(one, 900);
  expect(await refuse(1_000)).toBe(0);
  expect(await refuse(5_101)).toBe(0);
  expect(await refuse(1_001)).toBe(1);
  await eventually(async () =>
    expect(await ledger.live(one.account, one.model)).toMatchObject({ balance: 6_000, held: 900 }),
  );
  expect(await refuse(1_001)).toBe(1);
});

test('the live record says whether auto-recharge is armed: from the setting, to the refusal of a purchase, to money in the wallet', async () => {
  const one = await subscribed('10', { threshold: 0, amount: 0 }, 1);
  const armed = async () => {
    const fields = await plane.app
      .get(REDIS)
      .hmget(keysOf(plane, one.account.id, one.model.id), 'rthr', 'ramt');
    return fields.map((field: string | null) => (field === null ? null : Number(field)));
  };
  const set = (threshold: number, amount: number) =>
    post('/models/set-auto-recharge', one.account.token, {
      model_id: one.model.id,
      threshold,
      amount,
    });
  expect(await armed()).toEqual([null, null]);
  await set(0, 20_000_000);
  expect(await armed()).toEqual([0, 20_000_000]);
  await set(5, 20_000_000);
  await services[0]?.idle();
  await eventually(async () => expect(await armed()).toEqual([null, null]));
  await ledger.asAdmin('POST', '/wallet/admin-recharge', { user_id: one.account.id, amount: '20' });
  await eventually(async () =>
    expect(await ledger.live(one.account, one.model)).toMatchObject({ balance: 20_000_001 }),
  );
  expect(await armed()).toEqual([5, 20_000_000]);
  await set(0, 0);
  expect(await armed()).toEqual([null, null]);
});

test('frozen accounts and models off the shelf are not recharged', async () => {
  const [frozen, off] = [
    await subscribed('10', { threshold: 100, amount: 5_000 }),
    await subscribed('10', { threshold: 100, amount: 5_000 }),
  ];
  await ledger.asAdmin('POST', `/users/${frozen.account.id}/freeze`);
  await ledger.asAdmin('POST', `/models/${off.model.id}/disable`);
  await ledger.query('UPDATE subscriptions SET auto_recharge_threshold = 2000 WHERE id = ANY($1)', [
    [frozen.id, off.id],
  ]);
  services[0]?.consider([frozen.id, off.id]);
  await services[0]?.idle();
  expect([await purchases(frozen.id), await purchases(off.id)]).toEqual([0, 0]);
});

test('the ledger balances', async () => {
  expect(await ledger.violations()).toEqual({});
});

test('a tiny amount under a huge threshold is bought at once, not one token after the other, and no more than the wallet pays for', async () => {
  const one = await subscribed('1', { threshold: 1_000_000_000, amount: 1 }, 0);
  await eventually(async () =>
    expect(
      (await ledger.query('SELECT balance FROM subscriptions WHERE id = $1', [one.id]))[0].balance,
    ).toBe('1000000'),
  );
  await Promise.all(services.map((service) => service.idle()));
  expect(await purchases(one.id)).toBeLessThanOrEqual(2);
});
