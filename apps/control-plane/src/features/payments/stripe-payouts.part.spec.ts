import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { eventually } from '@tollgate/harness';
import { EQUALITIES } from '../books/equalities.ts';
import { PayoutSender } from './payout-sender.ts';
import { eventOf, notify, plane, stripeServer, user } from './payments-under-test.ts';

describe('paying back through Stripe', () => {
  let payer: { id: number; token: string };
  let sessions: string[];
  /** Has paid 10 and 5, in this order. */
  beforeEach(async () => {
    stripeServer.refunding = 'succeeded';
    stripeServer.failWith = undefined;
    payer = await plane.createUser(`payer-${Math.random().toString(36).slice(2)}`);
    sessions = [];
    for (const amount of [10, 5]) {
      await plane.call('POST', '/wallet/recharge', { token: payer.token, body: { amount } });
      const id = stripeServer.sessions.at(-1)?.id ?? '';
      await notify(eventOf(id, amount * 100));
      sessions.push(id);
    }
  });

  const payBack = (amount: string, headers: Record<string, string> = {}) =>
    plane.call('POST', '/wallet/withdraw', {
      token: plane.adminToken,
      body: { user_id: payer.id, amount, note: 'asked for it', to: 'provider' },
      headers,
    });
  const payouts = (expected: unknown[][]) =>
    eventually(async () => {
      await plane.app.get(PayoutSender).sendAll();
      const list = await plane.call('GET', '/wallet/payouts?sort=id', { token: payer.token });
      const rows: Record<string, unknown>[] = list.body.data;
      expect(rows.map(({ amount, status, failure }) => [amount, status, failure])).toEqual(
        expected,
      );
    });
  const walletOf = async () =>
    (await plane.call('GET', '/wallet', { token: payer.token })).body.balance;
  const refunded = () =>
    stripeServer.refunds
      .filter(({ payment_intent: of }) => sessions.some((id) => of === `pi_${id}`))
      .map(({ payment_intent: of, amount }) => [sessions.indexOf(of.slice('pi_'.length)), amount]);
  const dueNow = () =>
    plane.dataSource.query("UPDATE payouts SET retry_at = now() WHERE status = 'pending'");
  const unsound = async () => plane.dataSource.query(EQUALITIES.payouts.sql);
  afterEach(async () => expect(await unsound()).toEqual([]));

  test('a payout is sent after its commit, without waiting for the next look', async () => {
    await payBack('3');
    await eventually(async () => expect(refunded()).toEqual([[1, 300]]));
    await payouts([['3', 'paid', null]]);
  });

  test('takes the newest payments first, each once, and the wallet gives the money at once', async () => {
    const answer = await payBack('12.34', { 'idempotency-key': 'back' });
    expect(answer).toMatchObject({
      status: 200,
      body: { amount: '-12.34', balance: '2.66', payouts: [{ amount: '5' }, { amount: '7.34' }] },
    });
    expect((await payBack('12.34', { 'idempotency-key': 'back' })).body).toEqual(answer.body);
    await payouts([
      ['5', 'paid', null],
      ['7.34', 'paid', null],
    ]);
    expect(refunded()).toEqual([
      [1, 500],
      [0, 734],
    ]);
    expect(await walletOf()).toBe('2.66');
  });

  test('never more than was paid in there, however many ask at once, and no fractions of a cent (S29a)', async () => {
    await plane.call('POST', '/wallet/admin-recharge', {
      token: plane.adminToken,
      body: { user_id: payer.id, amount: '100' },
    });
    expect(await payBack('15.01')).toMatchObject({ status: 409, body: { code: 'payout_limit' } });
    const answers = await Promise.all(Array.from({ length: 8 }, () => payBack('4')));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([
      ...[200, 200, 200],
      ...[409, 409, 409, 409, 409],
    ]);
    expect(await payBack('0.001')).toMatchObject({ status: 400 });
    await payouts([
      ['4', 'paid', null],
      ...[
        ['1', 'paid', null],
        ['3', 'paid', null],
      ],
      ['4', 'paid', null],
    ]);
    expect(refunded().reduce((sum, [, amount]) => sum + (amount ?? 0), 0)).toBe(1_200);
    expect(await walletOf()).toBe('103');
  });

  test('what Stripe refuses, or fails later, is in the wallet again, once (S29a)', async () => {
    stripeServer.refunding = 'refused';
    await payBack('1');
    await payouts([['1', 'failed', 'charge_already_refunded']]);
    expect(await walletOf()).toBe('15');
    stripeServer.refunding = 'succeeded';
    await payBack('2');
    await payouts([
      ['1', 'failed', 'charge_already_refunded'],
      ['2', 'paid', null],
    ]);
    expect(await walletOf()).toBe('13');
    const { metadata } = stripeServer.refunds.at(-1) ?? {};
    const failed = (of: object) =>
      notify(
        JSON.stringify({
          id: 'evt_3',
          object: 'event',
          type: 'refund.failed',
          data: {
            object: { id: 're', status: 'failed', failure_reason: 'lost_card', metadata: of },
          },
        }),
      );
    expect((await failed({ ...metadata, tollgate_payment: 'cs_of_another_shop' })).status).toBe(
      200,
    );
    expect((await failed({})).status).toBe(200);
    expect(await walletOf()).toBe('13');
    await Promise.all(Array.from({ length: 4 }, () => failed(metadata ?? {})));
    await payouts([
      ['1', 'failed', 'charge_already_refunded'],
      ['2', 'failed', 'lost_card'],
    ]);
    expect(await walletOf()).toBe('15');
  });

  test('an answer that never came is asked for again: one refund, an alert after three attempts, resolved with its outcome', async () => {
    stripeServer.refunding = 'unanswered';
    await payBack('3');
    const alerts = () =>
      plane.dataSource.query(
        "SELECT resolved_at IS NULL AS open FROM alerts WHERE rule = 'payout_unsettled' ORDER BY id DESC LIMIT 1",
      );
    await payouts([['3', 'pending', expect.stringContaining('not answer')]]);
    expect(await alerts()).toEqual([]);
    stripeServer.failWith = { status: 503, body: {} };
    await eventually(async () => {
      await dueNow();
      await plane.app.get(PayoutSender).sendAll();
      expect(await alerts()).toEqual([{ open: true }]);
    });
    const administrator = { token: plane.adminToken };
    expect(
      await plane.call('DELETE', `/users/${payer.id}?forfeit=true`, administrator),
    ).toMatchObject({ status: 409, body: { code: 'account_not_empty' } });
    stripeServer.failWith = undefined;
    await dueNow();
    await payouts([['3', 'paid', null]]);
    expect([refunded(), await walletOf(), await alerts()]).toEqual([
      [[1, 300]],
      '12',
      [{ open: false }],
    ]);
  }, 30_000);

  test('users cannot withdraw, and see no payouts of others', async () => {
    const withdrawal = { user_id: payer.id, amount: '1', note: 'mine', to: 'provider' };
    expect(
      (await plane.call('POST', '/wallet/withdraw', { token: payer.token, body: withdrawal }))
        .status,
    ).toBe(403);
    await payBack('1');
    const list = `/wallet/payouts?user_id=${payer.id}` as const;
    expect((await plane.call('GET', list, { token: user.token })).status).toBe(404);
    expect((await plane.call('GET', list, { token: plane.adminToken })).body.total).toBe(1);
  });
});
