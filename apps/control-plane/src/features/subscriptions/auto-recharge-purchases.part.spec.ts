import { expect, test } from '@jest/globals';
import { eventually } from '@tollgate/harness';
import {
  ledger,
  post,
  purchases,
  services,
  subscribed,
  use,
} from './auto-recharge/auto-recharge-under-test.ts';

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

test('the ledger balances after every purchase', async () => {
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
