import { describe, expect, jest, test } from '@jest/globals';
import { parseAmount } from '@tollgate/money';
import { patientPost, plane, ledger, post, tally } from './subscriptions-under-test.ts';

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

  test('the ledger of the wallet names the model of each purchase and refund, as JSON and CSV', async () => {
    const account = await ledger.account('10');
    const models = [await ledger.model('1'), await ledger.model('2')] as const;
    for (const { id } of models)
      await post('/models/subscribe', account.token, { model_id: id, tokens: 1_000_000 });
    await post('/models/renew', account.token, { model_id: models[1].id, tokens: 1_000_000 });
    await post('/models/unsubscribe', account.token, { model_id: models[0].id });
    const { token } = account;
    const { body } = await plane.call('GET', '/wallet/logs?sort=id', { token });
    const named = (model: { id: number; name: string }) => ({
      model_id: model.id,
      model: model.name,
    });
    expect(body.data).toMatchObject([
      { kind: 'admin_recharge', model_id: null, model: null },
      { kind: 'subscribe', ...named(models[0]) },
      { kind: 'subscribe', ...named(models[1]) },
      { kind: 'renew', ...named(models[1]) },
      { kind: 'refund', ...named(models[0]) },
    ]);
    const csv = await plane.call('GET', '/wallet/logs?format=csv', { token });
    const lines = String(csv.body).trim().split('\n');
    expect(lines[0]).toMatch(/,model\r?$/);
    expect(lines[1]).toContain(models[0].name);
  });

  test('a hundred times at once refunds once, and the account may subscribe again', async () => {
    const [account, model] = [await ledger.account('10'), await ledger.model('1')];
    await post('/models/subscribe', account.token, { model_id: model.id, tokens: 1_000_000 });
    const answers = await Promise.all(
      Array.from({ length: 100 }, () =>
        patientPost('/models/unsubscribe', account.token, { model_id: model.id }),
      ),
    );
    expect(Object.keys(tally(answers)).filter((what) => !/^(200|404 .*)$/.test(what))).toEqual([]);
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

  test('again and again makes withdrawals whose ids rise, though the clock of the control plane stands', async () => {
    const [account, model] = [await ledger.account('10'), await ledger.model('1')];
    /** Holds the milliseconds of each id. */
    const times: string[] = [];
    const clock = jest.spyOn(Date, 'now').mockReturnValue(Date.now());
    try {
      for (let round = 0; round < 3; round += 1) {
        await post('/models/subscribe', account.token, { model_id: model.id, tokens: 100 });
        await post('/models/unsubscribe', account.token, { model_id: model.id });
        times.push((await ledger.subscription(account, model)).withdrawal_id.slice(0, 13));
      }
    } finally {
      clock.mockRestore();
    }
    expect(times).toEqual([...new Set(times)].toSorted());
    expect(await ledger.wallet(account)).toBe(10_000_000n);
  });

  test('repeated with the Idempotency-Key of an earlier withdrawal, after subscribing again, closes nothing and has the first answer', async () => {
    const [account, model] = [await ledger.account('10'), await ledger.model('1')];
    const body = { model_id: model.id };
    const close = () =>
      post('/models/unsubscribe', account.token, body, { 'idempotency-key': 'of-the-first' });
    await post('/models/subscribe', account.token, { ...body, tokens: 4_000_000 });
    const first = await close();
    expect(first.body).toMatchObject({ status: 'closed', refunded_amount: '4' });
    await post('/models/subscribe', account.token, { ...body, tokens: 1_000_000 });
    expect(await close()).toMatchObject({ status: 200, body: first.body });
    expect(await ledger.subscription(account, model)).toMatchObject({ status: 'active' });
    expect(await ledger.wallet(account)).toBe(9_000_000n);
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
    // The refund equals the preview.
    expect(parseAmount(shown.refunded_amount)).toBe(paid);
    expect((await ledger.wallet(account)) + (await ledger.wallet(other))).toBe(20_000_000n);
    expect((await ledger.asAdmin('GET', `/models/${model.id}`)).status).toBe(404);
  });
});
