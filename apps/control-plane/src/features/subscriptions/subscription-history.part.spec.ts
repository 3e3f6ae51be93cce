import { describe, expect, test } from '@jest/globals';
import { usageEvent } from '../../testing/ledger-under-test.ts';
import { UsageWorker } from '../usage/ingest/usage-worker.ts';
import { plane, ledger, post } from './subscriptions-under-test.ts';

describe('models/my', () => {
  test('shows live tokens and held, and the ledger with its time while Redis is down', async () => {
    const [account, model] = [await ledger.account('10'), await ledger.model('1')];
    await post('/models/subscribe', account.token, {
      model_id: model.id,
      tokens: 7,
      auto_recharge_threshold: 0,
      auto_recharge_amount: 0,
    });
    expect(
      (await plane.call('GET', '/models/my', { token: account.token })).body.data,
    ).toMatchObject([
      {
        model_id: model.id,
        tokens: 7,
        held: 0,
        as_of: null,
        auto_recharge_threshold: 0,
        auto_recharge_amount: 0,
      },
    ]);
  });
});

describe('history', () => {
  const as =
    (account: { token: string }) =>
    <Method extends string, Path extends string>(method: Method, path: Path, body?: unknown) =>
      plane.call(method, path, { token: account.token, ...(body === undefined ? {} : { body }) });

  /** Makes a subscription that bought 1,000 and 500 tokens, and used 300, for 2 a token. */
  async function subscribed() {
    const [account, model] = [await ledger.account('3000'), await ledger.model('2000000')];
    await as(account)('POST', '/models/subscribe', { model_id: model.id, tokens: 1_000 });
    await as(account)('POST', '/models/renew', { model_id: model.id, tokens: 500 });
    const { id } = await ledger.subscription(account, model);
    await plane.app
      .get(UsageWorker)
      .process([usageEvent(300, { account, model, subscriptionId: id })]);
    return { account, model, id: Number(id) };
  }

  test('lots add up: bought = remaining + used + withdrawn, and the refund is the cost of what was withdrawn', async () => {
    const { account, model, id } = await subscribed();
    const { body: before } = await as(account)('GET', `/subscriptions/${id}/lots`);
    expect(before).toMatchObject({
      has_more: false,
      data: [
        { number: 2, kind: 'renew', tokens: 500, used: 0, remaining: 500, cost: '1000' },
        { number: 1, kind: 'subscribe', tokens: 1_000, used: 300, remaining: 700, cost: '2000' },
      ],
    });
    await as(account)('POST', '/models/unsubscribe', { model_id: model.id });
    const { body: after } = await as(account)('GET', `/subscriptions/${id}/lots`);
    for (const lot of after.data) {
      expect(lot.tokens).toBe(lot.remaining + lot.used + lot.withdrawn);
      expect(Number(lot.refunded)).toBe(lot.withdrawn * 2);
    }
  });

  test('the token ledger runs from page to page without a gap, and each balance is the one before it plus the movement', async () => {
    const { account, id } = await subscribed();
    const rows: { tokens: number; balance_after: number; kind: string }[] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const more: string = cursor === '' ? '' : `&cursor=${cursor}`;
      const { body } = await as(account)('GET', `/subscriptions/${id}/ledger?page_size=1${more}`);
      rows.push(...body.data);
      cursor = body.next_cursor;
    }
    expect(rows.map(({ kind, tokens }) => [kind, tokens])).toEqual([
      ['usage', -300],
      ['credit', 500],
      ['credit', 1_000],
    ]);
    expect(rows.map((row) => row.balance_after)).toEqual([1_200, 1_500, 1_000]);
    const usage = await as(account)('GET', `/subscriptions/${id}/ledger?kind=usage`);
    expect(usage.body.data).toHaveLength(1);
    const csv = await as(account)('GET', `/subscriptions/${id}/ledger?format=csv`);
    expect(String(csv.body).trim().split('\r\n')).toHaveLength(4);
  });

  test('of another account answers 404 to a user and shows it to an administrator', async () => {
    const { id } = await subscribed();
    const stranger = await ledger.account('0');
    for (const list of ['lots', 'ledger']) {
      const path = `/subscriptions/${id}/${list}`;
      expect((await as(stranger)('GET', path)).status).toBe(404);
      expect((await ledger.asAdmin('GET', path)).status).toBe(200);
      expect(await as(stranger)('GET', `${path}?cursor=x`)).toMatchObject({ status: 404 });
      expect(await ledger.asAdmin('GET', `${path}?cursor=x`)).toMatchObject({
        status: 400,
        body: { code: 'invalid_cursor' },
      });
    }
  });
});

test('every ledger balances, lots equal balances and no account was refunded more than it paid', async () => {
  expect(await ledger.violations()).toEqual({});
});
