import { expect, test } from '@jest/globals';
import { eventually } from '@tollgate/harness';
import { keysOf } from '../../testing/drift-under-test.ts';
import { REDIS } from '../../platform/redis/redis.module.ts';
import {
  hold,
  ledger,
  plane,
  post,
  purchases,
  services,
  subscribed,
} from './auto-recharge/auto-recharge-under-test.ts';

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
  // The threshold is beyond what a number counts exactly; only a hand in the database writes it.
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
