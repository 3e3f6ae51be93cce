import { describe, expect, test } from '@jest/globals';
import { as, monthly, ofAccount, set, tenant, usageOf } from '../../testing/budgets-under-test.ts';
import { ledger } from '../../testing/ledger-plane-under-test.ts';

const CLAIMED_MAX = 2 ** 53 - 1;
describe('permissions', () => {
  test('an account cannot change, grant, reset or remove what an administrator set', async () => {
    const scope = { user_id: tenant.account.id };
    const { body } = await ledger.asAdmin('POST', '/budgets', { scope, ...monthly });
    expect(body.is_of_administrator).toBe(true);
    const path = `/budgets/${body.id}` as const;
    for (const answer of [
      await as('PUT', path, { amount: 5_000 }),
      await as('POST', `${path}/grant`, { amount: 1, reason: 'x' }),
      await as('POST', `${path}/reset`, { reason: 'x' }),
      await as('DELETE', path),
    ])
      expect(answer).toMatchObject({ status: 403, body: { code: 'forbidden' } });
    expect(await as('GET', path)).toMatchObject({ status: 200, body: { amount: '1000' } });
    expect((await ledger.asAdmin('PUT', path, { amount: 5_000 })).body.amount).toBe('5000');
  });

  test('budgets of others are as if they did not exist', async () => {
    const { body } = await set();
    const other = tenant.key;
    tenant.account = await ledger.account('0');
    const path = `/budgets/${body.id}` as const;
    const answers = [
      await as('GET', path),
      await as('PUT', path, { amount: 1 }),
      await as('POST', `${path}/grant`, { amount: 1, reason: 'x' }),
      await as('POST', '/budgets', { scope: { key_id: other.id }, ...monthly }),
    ];
    for (const answer of answers)
      expect(answer).toMatchObject({ status: 404, body: { code: 'not_found' } });
    expect(await usageOf(body.id)).toBeNull();
    expect((await as('GET', '/budgets')).body.data).toEqual([]);
  });

  test('a key and an account have at most eight budgets', async () => {
    const made = await Promise.all(Array.from({ length: 10 }, () => set()));
    expect(made.map(({ status }) => status).toSorted()).toEqual([...Array(8).fill(201), 409, 409]);
    expect(await ofAccount()).toMatchObject({ status: 201 });
  });
});

test.each<[string, object, string]>([
  ['an amount above 2^53', { amount: CLAIMED_MAX + 1 }, 'amount'],
  ['a part of a token', { amount: '1.5' }, 'amount'],
  ['an amount below zero', { amount: -1 }, 'amount'],
  ['an unknown zone', { time_zone: 'Europe/Bielefeld' }, 'time_zone'],
  ['an unknown period', { period: 'fortnight' }, 'period'],
  ['a percentage above 100', { notify_at: [101] }, 'notify_at.0'],
])('%s is refused by the name of its field', async (_name, fields, field) => {
  expect(await set(fields)).toMatchObject({
    status: 400,
    body: { code: 'invalid_request', errors: [{ field }] },
  });
});
