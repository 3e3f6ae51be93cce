import { expect, test } from '@jest/globals';
import { ledger, plane, shareLedgerPlane, worker } from '../../testing/ledger-plane-under-test.ts';
import { subscribedAccount, usageEvent } from '../../testing/ledger-under-test.ts';

shareLedgerPlane();

const asAdmin = <Path extends string>(path: Path) =>
  plane.call('GET', path, { token: plane.adminToken });
const subscribed = () => subscribedAccount(plane, 1_000_000);

test('accounts are sorted by balance, by spend of 30 days and by last use, with these figures', async () => {
  const [idle, spender] = [await ledger.account('7.5'), await subscribed()];
  await plane.call('POST', '/models/pricing', {
    token: plane.adminToken,
    body: { model_id: spender.model.id, price_per_million: '4' },
  });
  await worker.process([usageEvent(250_000, spender)]);
  const of = async (sort: string) => {
    const { body } = await asAdmin(`/users?sort=${sort}&page_size=100`);
    const ids: number[] = body.data.map(({ id }: { id: number }) => id);
    return ids.filter((id) => id === idle.id || id === spender.account.id);
  };
  const { body } = await asAdmin(`/users/${spender.account.id}`);
  expect(body).toMatchObject({ balance: expect.any(String), spend_30d: '1', currency: 'USD' });
  expect(Date.now() - Date.parse(body.last_used_at)).toBeLessThan(120_000);
  expect(Date.now() - Date.parse(body.last_seen_at)).toBeLessThan(120_000);
  expect((await asAdmin(`/users/${idle.id}`)).body).toMatchObject({
    balance: '7.5',
    spend_30d: '0',
    last_used_at: null,
  });
  const isRicher = Number(body.balance) > 7.5;
  expect(await of('-balance')).toEqual(
    isRicher ? [spender.account.id, idle.id] : [idle.id, spender.account.id],
  );
  for (const sort of ['spend_30d', 'last_used_at']) {
    expect(await of(`-${sort}`)).toEqual([spender.account.id, idle.id]);
    expect(await of(sort)).toEqual([idle.id, spender.account.id]);
  }
});

test('spend has the requests of 30 days and values each day at its own price', async () => {
  const { account, model } = await subscribed();
  const sums = async (daysAgo: number, charge: number) => {
    for (const [table, who] of [
      ['usage_rollups_daily', 'user_id, key_id, '],
      ['usage_totals_daily', ''],
    ] as const)
      await plane.administrator.query(
        `INSERT INTO ${table} (day, ${who}model_id, upstream_id, charge, requests, duration_histogram, first_token_histogram)
         SELECT (now() AT TIME ZONE 'UTC')::date - $1::int, ${who === '' ? '' : '$3::int, 0, '}$2::int, 0, $4, 1, '{}', '{}' WHERE $3::int > 0`,
        [daysAgo, model.id, account.id, charge],
      );
  };
  const price = (daysAgo: number, perMillion: string) =>
    plane.administrator.query(
      "INSERT INTO price_versions (model_id, price_per_million, effective_at) VALUES ($1, $2, now() - $3::int * interval '1 day')",
      [model.id, perMillion, daysAgo],
    );
  await price(40, '2000000');
  await price(10, '3000000');
  await sums(31, 1_000_000);
  await sums(29, 1_000_000);
  await sums(9, 1_000_000);
  expect((await asAdmin(`/users/${account.id}`)).body.spend_30d).toBe('5');
  const { body } = await asAdmin('/users?sort=-spend_30d&page_size=100');
  expect(body.data.find(({ id }: { id: number }) => id === account.id)).toMatchObject({
    spend_30d: '5',
  });
  await plane.administrator.query('DELETE FROM usage_rollups_daily WHERE user_id = $1', [
    account.id,
  ]);
  await plane.administrator.query('DELETE FROM usage_totals_daily WHERE model_id = $1', [model.id]);
});
