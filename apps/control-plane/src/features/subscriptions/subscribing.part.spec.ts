import { describe, expect, test } from '@jest/globals';
import { patientPost, plane, ledger, post, tally } from './subscriptions-under-test.ts';

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
    // Only the writes of this subscription count: the first administrator's own record may still be on its way.
    expect(
      await ledger.query(
        "SELECT kind FROM live_state_outbox WHERE kind = 'subscription' AND target_id = $1",
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

  test('for more than money is counted in is refused by name and changes nothing, a renewal likewise', async () => {
    const [account, model] = [await ledger.account('1'), await ledger.model('9000000000000')];
    const body = { model_id: model.id, tokens: 1_000_000_000_000 };
    const refused = {
      status: 409,
      body: {
        code: 'token_limit',
        detail: 'So many tokens at this price cost more than money is counted in',
      },
    };
    expect(await post('/models/subscribe', account.token, body)).toMatchObject(refused);
    expect(await ledger.subscription(account, model)).toBeUndefined();
    await post('/models/subscribe', account.token, { ...body, tokens: 0 });
    expect(await post('/models/renew', account.token, body)).toMatchObject(refused);
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
  ])('refuses a purchase of %j', async (body) => {
    const [account, model] = [await ledger.account('1'), await ledger.model()];
    expect(
      await post('/models/subscribe', account.token, { model_id: model.id, ...body }),
    ).toMatchObject({ status: 400, body: { code: 'invalid_request' } });
  });

  test('a hundred times at once has one effect (S28)', async () => {
    const [account, model] = [await ledger.account('1000'), await ledger.model('1')];
    const answers = await Promise.all(
      Array.from({ length: 100 }, () =>
        patientPost('/models/subscribe', account.token, { model_id: model.id, tokens: 1_000_000 }),
      ),
    );
    expect(tally(answers)).toEqual({ '201': 1, '409 already_subscribed': 99 });
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
        patientPost(
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

  test('a hundred at once never overdraw the wallet and reach Redis in full (S28)', async () => {
    const [account, model] = [await ledger.account('30'), await ledger.model('1')];
    await post('/models/subscribe', account.token, { model_id: model.id, tokens: 0 });
    const answers = await Promise.all(
      Array.from({ length: 100 }, () =>
        patientPost('/models/renew', account.token, { model_id: model.id, tokens: 1_000_000 }),
      ),
    );
    expect(tally(answers)).toEqual({ '200': 30, '402 insufficient_funds': 70 });
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
