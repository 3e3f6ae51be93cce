import { beforeAll, describe, expect, test } from '@jest/globals';
import { parseAmount } from '@tollgate/money';
import { ledgerOf, usageEvent } from '../../testing/ledger-under-test.ts';
import type { ControlPlane } from '../../testing/control-plane-under-test.ts';
import { sharedControlPlane } from '../../testing/shared-plane-under-test.ts';
import { UsageWorker } from '../usage/ingest/usage-worker.ts';

let plane: ControlPlane;
let ledger: ReturnType<typeof ledgerOf>;
beforeAll(async () => {
  plane = await sharedControlPlane();
  ledger = ledgerOf(plane);
  await ledger.initialiseShards();
}, 60_000);

const post = (path: string, token: string, body: unknown, headers: Record<string, string> = {}) =>
  plane.call('POST', path, { token, body, headers });

describe('subscribing', () => {
  test('buys tokens from the wallet, and they are live in Redis when the call answers', async () => {
    const [account, model] = [await ledger.account('10'), await ledger.model('2')];
    const answer = await post('/models/subscribe', account.token, {
      model_id: model.id,
      tokens: 1_000_000,
    });
    expect(answer).toMatchObject({
      status: 201,
      body: {
        model_id: model.id,
        model: model.name,
        status: 'active',
        tokens: 1_000_000,
        cost: '2',
        currency: 'USD',
      },
    });
    expect(await ledger.wallet(account)).toBe(8_000_000n);
    expect(await ledger.live(account, model)).toMatchObject({
      status: 'active',
      balance: 1_000_000,
      held: 0,
      creditSeq: 1,
    });
    // Of this subscription: the first administrator's own record may still be on its way.
    expect(
      await ledger.query(
        "SELECT kind FROM live_state_outbox WHERE kind IN ('subscription', 'credit') AND target_id = $1",
        [answer.body.id],
      ),
    ).toEqual([]);
  });

  test('rounds the cost up to the next micro-unit', async () => {
    const [account, model] = [await ledger.account('1'), await ledger.model('0.000003')];
    expect(
      (await post('/models/subscribe', account.token, { model_id: model.id, tokens: 1 })).body.cost,
    ).toBe('0.000001');
  });

  test('with too little money is 402 and changes nothing', async () => {
    const [account, model] = [await ledger.account('1'), await ledger.model('2')];
    expect(
      await post('/models/subscribe', account.token, { model_id: model.id, tokens: 1_000_000 }),
    ).toMatchObject({
      status: 402,
      body: { code: 'insufficient_funds', detail: 'This costs 2; the wallet holds 1' },
    });
    expect(await ledger.subscription(account, model)).toBeUndefined();
    expect(await ledger.wallet(account)).toBe(1_000_000n);
  });

  test('twice is 409, off the shelf or unknown is 404', async () => {
    const [account, model] = [await ledger.account('1'), await ledger.model('0')];
    expect(
      (await post('/models/subscribe', account.token, { model_id: model.id, tokens: 0 })).status,
    ).toBe(201);
    expect(
      await post('/models/subscribe', account.token, { model_id: model.id, tokens: 0 }),
    ).toMatchObject({
      status: 409,
      body: {
        code: 'already_subscribed',
        detail: expect.stringContaining('renew it to buy more tokens'),
      },
    });
    const other = await ledger.model();
    await ledger.asAdmin('POST', `/models/${other.id}/disable`);
    expect(
      (await post('/models/subscribe', account.token, { model_id: other.id, tokens: 0 })).status,
    ).toBe(404);
    expect(
      (await post('/models/subscribe', account.token, { model_id: 999_999, tokens: 0 })).status,
    ).toBe(404);
  });

  test.each([
    { tokens: -1 },
    { tokens: 1.5 },
    { tokens: 1e308 },
    { tokens: '5' },
    { tokens: 2 ** 53 },
    {},
    { tokens: 1, auto_recharge_threshold: 5 },
    { tokens: 1, auto_recharge_amount: 5 },
    { tokens: 1, balance: 5 },
  ])('refuses %j', async (body) => {
    const [account, model] = [await ledger.account('1'), await ledger.model()];
    expect(
      await post('/models/subscribe', account.token, { model_id: model.id, ...body }),
    ).toMatchObject({ status: 400, body: { code: 'invalid_request' } });
  });

  test('a hundred times at once has one effect', async () => {
    const [account, model] = [await ledger.account('1000'), await ledger.model('1')];
    const answers = await Promise.all(
      Array.from({ length: 100 }, () =>
        post('/models/subscribe', account.token, { model_id: model.id, tokens: 1_000_000 }),
      ),
    );
    expect(answers.filter((answer) => answer.status === 201)).toHaveLength(1);
    expect(answers.filter((answer) => answer.body.code === 'already_subscribed')).toHaveLength(99);
    expect(await ledger.wallet(account)).toBe(999_000_000n);
    expect(await ledger.live(account, model)).toMatchObject({ balance: 1_000_000 });
  });

  test('a user cannot act for another account; an administrator can', async () => {
    const [account, other, model] = [
      await ledger.account('1'),
      await ledger.account('5'),
      await ledger.model('1'),
    ];
    expect(
      (
        await post('/models/subscribe', account.token, {
          model_id: model.id,
          tokens: 1,
          user_id: other.id,
        })
      ).status,
    ).toBe(404);
    expect(
      await post('/models/subscribe', plane.adminToken, {
        model_id: model.id,
        tokens: 1_000_000,
        user_id: other.id,
      }),
    ).toMatchObject({ status: 201, body: { user_id: other.id } });
    expect(await ledger.wallet(other)).toBe(4_000_000n);
  });
});

describe('renewing', () => {
  test('adds tokens, also live, and a hundred with one Idempotency-Key count once', async () => {
    const [account, model] = [await ledger.account('100'), await ledger.model('1')];
    await post('/models/subscribe', account.token, { model_id: model.id, tokens: 0 });
    const answers = await Promise.all(
      Array.from({ length: 100 }, () =>
        post(
          '/models/renew',
          account.token,
          { model_id: model.id, tokens: 1_000_000 },
          { 'idempotency-key': 'renew-once' },
        ),
      ),
    );
    expect(answers.filter((answer) => answer.status === 200).length).toBeGreaterThan(0);
    expect(
      answers.every(
        (answer) => answer.status === 200 || answer.body.code === 'idempotency_in_progress',
      ),
    ).toBe(true);
    expect(await ledger.wallet(account)).toBe(99_000_000n);
    expect(await ledger.live(account, model)).toMatchObject({ balance: 1_000_000, creditSeq: 1 });
  });

  test('a hundred at once never overdraw the wallet and reach Redis in full', async () => {
    const [account, model] = [await ledger.account('30'), await ledger.model('1')];
    await post('/models/subscribe', account.token, { model_id: model.id, tokens: 0 });
    const answers = await Promise.all(
      Array.from({ length: 100 }, () =>
        post('/models/renew', account.token, { model_id: model.id, tokens: 1_000_000 }),
      ),
    );
    expect(answers.filter((answer) => answer.status === 200)).toHaveLength(30);
    expect(answers.filter((answer) => answer.status === 402)).toHaveLength(70);
    expect(await ledger.wallet(account)).toBe(0n);
    expect(await ledger.live(account, model)).toMatchObject({ balance: 30_000_000, creditSeq: 30 });
  });

  test('without a subscription is 404', async () => {
    const [account, model] = [await ledger.account('1'), await ledger.model()];
    expect(
      await post('/models/renew', account.token, { model_id: model.id, tokens: 1 }),
    ).toMatchObject({ status: 404, body: { code: 'not_subscribed' } });
  });
});

describe('unsubscribing', () => {
  test('refunds the cost of what remains, rounded down per lot, at once', async () => {
    const [account, model] = [await ledger.account('10'), await ledger.model('1')];
    await post('/models/subscribe', account.token, { model_id: model.id, tokens: 1_000_000 });
    await ledger.asAdmin('POST', '/models/pricing', { model_id: model.id, price_per_million: '3' });
    await post('/models/renew', account.token, { model_id: model.id, tokens: 1_000_000 });
    expect(await ledger.wallet(account)).toBe(6_000_000n);
    const answer = await post('/models/unsubscribe', account.token, { model_id: model.id });
    expect(answer).toMatchObject({
      status: 200,
      body: { status: 'closed', refunded_tokens: 2_000_000, refunded_amount: '4' },
    });
    expect(await ledger.wallet(account)).toBe(10_000_000n);
    expect((await plane.call('GET', '/models/my', { token: account.token })).body.data).toEqual([]);
    expect(await post('/models/unsubscribe', account.token, { model_id: model.id })).toMatchObject({
      status: 404,
      body: { code: 'not_subscribed' },
    });
  });

  test('a hundred times at once refunds once, and the account may subscribe again', async () => {
    const [account, model] = [await ledger.account('10'), await ledger.model('1')];
    await post('/models/subscribe', account.token, { model_id: model.id, tokens: 1_000_000 });
    const answers = await Promise.all(
      Array.from({ length: 100 }, () =>
        post('/models/unsubscribe', account.token, { model_id: model.id }),
      ),
    );
    expect(answers.every((answer) => answer.status === 200 || answer.status === 404)).toBe(true);
    expect(await ledger.wallet(account)).toBe(10_000_000n);
    expect(
      await post('/models/subscribe', account.token, { model_id: model.id, tokens: 500_000 }),
    ).toMatchObject({ status: 201, body: { tokens: 500_000 } });
    expect(await ledger.live(account, model)).toMatchObject({
      status: 'active',
      generation: 2,
      balance: 500_000,
    });
  });

  test('what a deleted account gets back for its tokens is forfeited like its wallet', async () => {
    const [account, model] = [await ledger.account('10'), await ledger.model('1')];
    await post('/models/subscribe', account.token, { model_id: model.id, tokens: 4_000_000 });
    expect(await ledger.asAdmin('DELETE', `/users/${account.id}`)).toMatchObject({
      status: 409,
      body: { code: 'account_not_empty' },
    });
    expect((await ledger.asAdmin('DELETE', `/users/${account.id}?forfeit=true`)).status).toBe(204);
    expect(await ledger.subscription(account, model)).toMatchObject({
      status: 'closed',
      balance: '0',
    });
    expect(await ledger.wallet(account)).toBe(0n);
    expect(
      await ledger.query(
        'SELECT t.kind, e.amount FROM ledger_transactions t JOIN ledger_entries e ON e.transaction_id = t.id JOIN ledger_accounts a ON a.id = e.ledger_account_id WHERE a.user_id = $1 ORDER BY e.id',
        [account.id],
      ),
    ).toMatchObject([
      { kind: 'admin_recharge', amount: '10000000' },
      { kind: 'subscribe', amount: '-4000000' },
      { kind: 'forfeit', amount: '-6000000' },
      { kind: 'refund', amount: '4000000' },
      { kind: 'forfeit', amount: '-4000000' },
    ]);
  });

  test('deleting a model needs ?refund=true while it has subscribers, and then refunds them', async () => {
    const [account, model] = [await ledger.account('10'), await ledger.model('1')];
    await post('/models/subscribe', account.token, { model_id: model.id, tokens: 1_000_000 });
    expect(await ledger.asAdmin('DELETE', `/models/${model.id}`)).toMatchObject({
      status: 409,
      body: { code: 'model_has_subscribers' },
    });
    const other = await ledger.account('10');
    for (const tokens of [333_333, 1])
      await post(tokens === 1 ? '/models/renew' : '/models/subscribe', other.token, {
        model_id: model.id,
        tokens,
      });
    const paid = 20_000_000n - (await ledger.wallet(account)) - (await ledger.wallet(other));
    const { body: shown } = await ledger.asAdmin(
      'GET',
      `/previews/model-removal?model_id=${model.id}`,
    );
    expect(shown).toMatchObject({ subscriptions: 2, refunded_tokens: 1_333_334 });
    expect((await ledger.asAdmin('DELETE', `/models/${model.id}?refund=true`)).status).toBe(204);
    // What was shown is what came back.
    expect(parseAmount(shown.refunded_amount)).toBe(paid);
    expect((await ledger.wallet(account)) + (await ledger.wallet(other))).toBe(20_000_000n);
    expect((await ledger.asAdmin('GET', `/models/${model.id}`)).status).toBe(404);
  });
});

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
  const as = (account: { token: string }) => (method: string, path: string, body?: unknown) =>
    plane.call(method, path, { token: account.token, ...(body === undefined ? {} : { body }) });

  /** Bought 1,000 and 500 tokens, used 300, for 2 a token. */
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
