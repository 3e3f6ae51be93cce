import { expect, test } from '@jest/globals';
import { eventually } from '@tollgate/harness';
import { DataSource } from 'typeorm';
import { LiveRecords } from '@tollgate/keyspace';
import { EQUALITIES } from '../books/equalities.ts';
import { readFills } from '../budgets/budget-fills.sql.ts';
import {
  hold,
  ledger,
  plane,
  post,
  purchases,
  services,
  subscribed,
} from './auto-recharge/auto-recharge-under-test.ts';

type Subscribed = Awaited<ReturnType<typeof subscribed>>;

/** Sets a budget of what auto-recharge of the account buys; a token of the model costs a micro-unit. */
const setBudget = async ({ account }: Subscribed, fields: object = {}) => {
  const budget = { of: 'purchases', unit: 'money', amount: '0.000060', period: 'month' };
  const scope = { user_id: account.id };
  const answer = await post('/budgets', account.token, { scope, ...budget, ...fields });
  return { ...answer, id: answer.body.id as number };
};
const usageOf = async ({ account }: Subscribed, id: number) => {
  const { token } = account;
  const { body } = await plane.call('GET', `/budgets/usage?ids=${id}`, { token });
  return body.data[0];
};
const idle = () => Promise.all(services.map((service) => service.idle()));
/** Lets auto-recharge buy so many tokens at a time while there are at most `threshold`. */
const switchOn = async ({ account, model }: Subscribed, threshold: number, amount: number) => {
  const body = { model_id: model.id, threshold, amount };
  await post('/models/set-auto-recharge', account.token, body);
  await idle();
};
const look = async (id: number): Promise<void> => {
  for (let turn = 0; turn < 5; turn += 1) for (const service of services) service.consider([id]);
  await idle();
};
const failures = async (id: number) =>
  ledger.query(
    "SELECT message FROM alerts WHERE rule = 'auto_recharge_failed' AND subject = 'subscription:' || $1 AND resolved_at IS NULL",
    [id],
  );

test('auto-recharge buys what the budget of purchases covers, however many look, and says why it stops', async () => {
  const one = await subscribed('10', { threshold: 100, amount: 0 }, 10);
  const { status, body, id } = await setBudget(one, { notify_at: [50, 100] });
  expect([status, body]).toMatchObject([201, { of: 'purchases', key_id: null, each: null }]);
  await switchOn(one, 1_000, 30);
  await eventually(async () => {
    await look(one.id);
    expect(await failures(one.id)).toHaveLength(1);
  });
  expect(await purchases(one.id)).toBe(2);
  expect((await failures(one.id))[0].message).toContain(`Budget ${id} does not cover`);
  expect(await usageOf(one, id)).toMatchObject({ used: '0.00006', limit: '0.00006', live: null });
  const { body: entries } = await plane.call('GET', `/budgets/${id}/entries`, {
    token: one.account.token,
  });
  expect(entries.data).toMatchObject([
    { kind: 'purchase', amount: '0.00003', author_id: one.account.id },
    { kind: 'purchase', amount: '0.00003' },
  ]);
  const alerts = await ledger.query(
    "SELECT rule FROM alerts WHERE subject LIKE 'budget:' || $1 || ':%' ORDER BY id",
    [id],
  );
  expect(alerts).toEqual([{ rule: 'budget_threshold' }, { rule: 'budget_exhausted' }]);
  const fills = await readFills(plane.app.get(DataSource));
  expect(fills).toContainEqual(
    expect.objectContaining({ scope: 'purchases', unit: 'money', share: 1 }),
  );
});

test('purchases of several models at once do not exceed it', async () => {
  const one = await subscribed('10', { threshold: 100, amount: 0 }, 10);
  const models = await Promise.all(Array.from({ length: 6 }, () => ledger.model('1')));
  for (const { id } of models)
    await post('/models/subscribe', one.account.token, { model_id: id, tokens: 10 });
  const { id } = await setBudget(one, { amount: '0.00006' });
  await Promise.all(models.map((model) => switchOn({ ...one, model }, 35, 30)));
  const ids: { id: number }[] = await ledger.query(
    'SELECT id FROM subscriptions WHERE user_id = $1',
    [one.account.id],
  );
  for (const service of services) service.consider(ids.map((row) => row.id));
  await idle();
  expect(await usageOf(one, id)).toMatchObject({ used: '0.00006' });
});

test('a grant lets it buy at once, and people still buy what they like', async () => {
  const one = await subscribed('10', { threshold: 100, amount: 0 }, 10);
  const { id } = await setBudget(one, { amount: '0' });
  await switchOn(one, 1_000, 30);
  await eventually(async () => expect(await failures(one.id)).toHaveLength(1));
  expect(await purchases(one.id)).toBe(0);
  // Requests do not count in it.
  await hold(one, 5);
  const body = { model_id: one.model.id, tokens: 5 };
  expect((await post('/models/renew', one.account.token, body)).status).toBe(200);
  await post(`/budgets/${id}/grant`, one.account.token, { amount: '0.00004', reason: 'launch' });
  await eventually(async () => expect(await purchases(one.id)).toBe(1));
  await idle();
  expect(await usageOf(one, id)).toMatchObject({ used: '0.00003', granted: '0.00004' });
});

test('where it does not cover all that is needed at once, one amount is bought', async () => {
  const one = await subscribed('10', { threshold: 100, amount: 0 }, 10);
  const { id } = await setBudget(one, { amount: '0.0001' });
  await switchOn(one, 1_000_000, 30);
  await eventually(async () => {
    await look(one.id);
    expect(await purchases(one.id)).toBe(3);
  });
  expect(await usageOf(one, id)).toMatchObject({ used: '0.00009' });
});

test('it counts its models alone, only counts where it notifies, and Redis knows nothing of it', async () => {
  const one = await subscribed('10', { threshold: 100, amount: 0 }, 10);
  const other = await setBudget(one, { amount: '0', models: 'no-such-*' });
  const notified = await setBudget(one, { amount: '0', models: '*', action: 'notify' });
  await switchOn(one, 35, 30);
  await eventually(async () => expect(await purchases(one.id)).toBe(1));
  expect(await usageOf(one, other.id)).toMatchObject({ used: '0' });
  expect(await usageOf(one, notified.id)).toMatchObject({ used: '0.00003', limit: '0' });
  const [live] = await plane.app.get(LiveRecords).budgets.read(one.account.id);
  expect(live).toBeUndefined();
});

test.each<[string, object, string]>([
  ['of a key', { scope: { key_id: 1 } }, 'scope'],
  ['in tokens', { unit: 'tokens', amount: 5 }, 'unit'],
  ['that falls back', { action: 'fallback' }, 'action'],
])('one %s is refused by the name of its field', async (_name, fields, field) => {
  const one = await subscribed('1', { threshold: 0, amount: 0 }, 10);
  expect(await setBudget(one, fields)).toMatchObject({
    status: 400,
    body: { errors: [{ field }] },
  });
});

test('the audit finds no fault in it, and a purchase that is counted otherwise than the ledger has it', async () => {
  const one = await subscribed('10', { threshold: 100, amount: 0 }, 10);
  const { id } = await setBudget(one, { amount: '1' });
  await switchOn(one, 35, 30);
  await eventually(async () => expect(await purchases(one.id)).toBe(1));
  const broken = async () => [
    (await ledger.query(EQUALITIES.budgets.sql)).length,
    (await ledger.query(EQUALITIES.budget_purchases.sql)).length,
  ];
  expect(await broken()).toEqual([0, 0]);
  const add = (units: number) =>
    ledger.query('UPDATE budget_periods SET used = used + $2 WHERE budget_id = $1', [id, units]);
  await add(1);
  expect(await broken()).toEqual([0, 1]);
  await add(-1);
});
