import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { micros } from '@tollgate/money';
import { Stripe } from 'stripe';
import { loadConfig } from '../../config.ts';
import {
  send,
  startControlPlane,
  type ControlPlane,
} from '../../testing/control-plane-under-test.ts';
import { eventually } from '../../testing/eventually.ts';
import { EQUALITIES } from '../books/equalities.ts';
import { fromMinorUnits, toMinorUnits } from './minor-units.ts';
import { PayoutSender } from './payout-sender.ts';
import { StripeServer } from './stripe-under-test.ts';

const SECRET_KEY = 'sk_test_canary';
const WEBHOOK_SECRET = 'whsec_0123456789abcdef0123';

const stripeServer = new StripeServer();
const signer = new Stripe(SECRET_KEY).webhooks;
let plane: ControlPlane;
let user: { id: number; token: string };
beforeAll(async () => {
  plane = await startControlPlane({
    PAYMENTS: 'stripe',
    STRIPE_SECRET_KEY: SECRET_KEY,
    STRIPE_WEBHOOK_SECRET: WEBHOOK_SECRET,
    PAYMENT_RETURN_URL: 'https://console.example/wallet',
    STRIPE_API_URL: await stripeServer.start(),
  });
  user = await plane.createUser('payer');
}, 60_000);
afterAll(async () => {
  stripeServer.stop();
  await plane?.stop();
});

const recharge = (amount: string, headers: Record<string, string> = {}) =>
  plane.call('POST', '/wallet/recharge', { token: user.token, body: { amount }, headers });
const balance = async () =>
  (await plane.call('GET', '/wallet', { token: user.token })).body.balance;
const eventOf = (
  id: string,
  amountTotal: number,
  { type = 'checkout.session.completed', status = 'paid', currency = 'usd' } = {},
) =>
  JSON.stringify({
    id: 'evt_1',
    object: 'event',
    type,
    data: {
      object: {
        id,
        object: 'checkout.session',
        payment_status: status,
        amount_total: amountTotal,
        currency,
      },
    },
  });
const notify = (
  payload: string,
  signature = signer.generateTestHeaderString({ payload, secret: WEBHOOK_SECRET }),
) =>
  send(`${plane.url}/webhooks/stripe`, 'POST', {
    rawBody: payload,
    headers: { 'stripe-signature': signature },
  });

describe('recharging through Stripe', () => {
  test('opens a checkout, and the signed notice credits it exactly once however often it comes', async () => {
    const before = await balance();
    const opened = await recharge('12.34');
    expect(opened).toMatchObject({
      status: 201,
      body: {
        provider: 'stripe',
        status: 'open',
        amount: '12.34',
        balance: null,
        checkout_url: expect.stringContaining('https://checkout.example/'),
      },
    });
    const session = stripeServer.sessions.at(-1);
    expect(session?.authorization).toBe(`Bearer ${SECRET_KEY}`);
    expect(session?.form.get('line_items[0][price_data][unit_amount]')).toBe('1234');
    expect(session?.form.get('line_items[0][price_data][currency]')).toBe('usd');
    expect(await balance()).toBe(before);

    const answers = await Promise.all(
      Array.from({ length: 20 }, () => notify(eventOf(session?.id ?? '', 1234))),
    );
    expect(answers.map((answer) => answer.status)).toEqual(Array.from({ length: 20 }, () => 200));
    expect(await balance()).toBe('12.34');
    expect(
      await plane.dataSource.query(
        "SELECT count(*)::int AS n FROM ledger_transactions WHERE kind = 'recharge'",
      ),
    ).toEqual([{ n: 1 }]);
  });

  test('are listed with their state, to their own account alone', async () => {
    const opened = (await recharge('3')).body;
    const list = async (query: string, token = user.token) =>
      plane.call('GET', `/wallet/payments?${query}`, { token });
    expect((await list('page_size=1')).body.data).toMatchObject([
      { id: opened.id, status: 'open', amount: '3', paid_at: null, created_by: user.id },
    ]);
    await notify(eventOf(stripeServer.sessions.at(-1)?.id ?? '', 300));
    const [paid] = (await list('status=paid')).body.data;
    expect(paid).toMatchObject({ id: opened.id, status: 'paid' });
    expect(Date.parse(paid.paid_at)).toBeGreaterThanOrEqual(Date.parse(paid.created_at));
    const stranger = await plane.createUser('passer-by');
    expect((await list('', stranger.token)).body.total).toBe(0);
    expect((await list(`user_id=${user.id}`, stranger.token)).status).toBe(404);
    expect((await list(`user_id=${user.id}&status=open`, plane.adminToken)).status).toBe(200);
    expect((await list('status=odd')).status).toBe(400);
  });

  test('one Idempotency-Key opens one checkout', async () => {
    const sessions = stripeServer.sessions.length;
    const [first, second] = [
      await recharge('5', { 'idempotency-key': 'k' }),
      await recharge('5', { 'idempotency-key': 'k' }),
    ];
    expect(second.body).toEqual(first.body);
    expect(stripeServer.sessions).toHaveLength(sessions + 1);
  });

  test.each([
    ['no signature', (payload: string) => ({ payload, signature: '' })],
    [
      'a signature with an empty secret',
      (payload: string) => ({
        payload,
        signature: signer.generateTestHeaderString({ payload, secret: '' }),
      }),
    ],
    [
      'a signature with another secret',
      (payload: string) => ({
        payload,
        signature: signer.generateTestHeaderString({ payload, secret: 'whsec_other' }),
      }),
    ],
    [
      'a signature of another body',
      (payload: string) => ({
        payload,
        signature: signer.generateTestHeaderString({
          payload: `${payload} `,
          secret: WEBHOOK_SECRET,
        }),
      }),
    ],
    [
      'an old signature',
      (payload: string) => ({
        payload,
        signature: signer.generateTestHeaderString({
          payload,
          secret: WEBHOOK_SECRET,
          timestamp: Math.floor(Date.now() / 1000) - 600,
        }),
      }),
    ],
  ])('a notice with %s is 400 and credits nothing (S29)', async (_, forge) => {
    await recharge('7');
    const before = await balance();
    const { payload, signature } = forge(eventOf(stripeServer.sessions.at(-1)?.id ?? '', 700));
    expect(await notify(payload, signature)).toMatchObject({
      status: 400,
      body: { code: 'invalid_signature' },
    });
    expect(await balance()).toBe(before);
  });

  test.each([
    ['more', 701, 'usd'],
    ['less', 699, 'usd'],
    ['another currency', 700, 'eur'],
  ])(
    'a notice of %s than was asked for is 400 and credits nothing (S29)',
    async (_, amount, currency) => {
      await recharge('7');
      const before = await balance();
      expect(
        await notify(eventOf(stripeServer.sessions.at(-1)?.id ?? '', amount, { currency })),
      ).toMatchObject({ status: 400, body: { code: 'payment_mismatch' } });
      expect(await balance()).toBe(before);
    },
  );

  test('a session that is not paid yet credits with the later notice, an expired one never, a strange one is taken quietly', async () => {
    await recharge('3');
    const id = stripeServer.sessions.at(-1)?.id ?? '';
    const before = Number(await balance());
    await notify(eventOf(id, 300, { status: 'unpaid' }));
    expect(Number(await balance())).toBe(before);
    await notify(eventOf(id, 300, { type: 'checkout.session.async_payment_succeeded' }));
    expect(Number(await balance())).toBe(before + 3);
    await notify(eventOf(id, 300, { type: 'checkout.session.expired' }));
    expect(
      await plane.dataSource.query('SELECT status FROM payments WHERE provider_reference = $1', [
        id,
      ]),
    ).toEqual([{ status: 'paid' }]);
    expect((await notify(eventOf('cs_of_another_shop', 300))).status).toBe(200);
    expect(
      (
        await notify(
          JSON.stringify({
            id: 'evt_2',
            object: 'event',
            type: 'customer.created',
            data: { object: {} },
          }),
        )
      ).status,
    ).toBe(200);
    expect(Number(await balance())).toBe(before + 3);
  });

  test('fractions of a cent are refused', async () => {
    expect(await recharge('1.001')).toMatchObject({
      status: 400,
      body: { errors: [{ field: 'amount' }] },
    });
  });

  test('a provider that fails is 503, discloses no secret and leaves no payment behind', async () => {
    stripeServer.failWith = {
      status: 401,
      body: {
        error: {
          type: 'invalid_request_error',
          message: `Invalid API Key provided: ${SECRET_KEY}`,
        },
      },
    };
    try {
      const [{ n }] = await plane.dataSource.query('SELECT count(*)::int AS n FROM payments');
      const answer = await recharge('2');
      expect(answer).toMatchObject({ status: 503, body: { code: 'payment_provider_failed' } });
      expect(JSON.stringify(answer.body)).not.toContain('canary');
      expect(await plane.dataSource.query('SELECT count(*)::int AS n FROM payments')).toEqual([
        { n },
      ]);
    } finally {
      stripeServer.failWith = undefined;
    }
  });
});

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

  test('never more than was paid in there, however many ask at once, and no fractions of a cent', async () => {
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

  test('what Stripe refuses, or fails later, is in the wallet again, once', async () => {
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
    const list = `/wallet/payouts?user_id=${payer.id}`;
    expect((await plane.call('GET', list, { token: user.token })).status).toBe(404);
    expect((await plane.call('GET', list, { token: plane.adminToken })).body.total).toBe(1);
  });
});

test.each(['STRIPE_WEBHOOK_SECRET', 'STRIPE_SECRET_KEY'])(
  'an empty %s refuses to start (S29)',
  (name) => {
    expect(() => loadConfig({ ...plane.environment, [name]: '' })).toThrow(new RegExp(name));
  },
);

test('without a provider a recharge is 409 and the webhook is unknown', async () => {
  const bare = await startControlPlane({ PAYMENTS: 'none' });
  try {
    expect(
      await bare.call('POST', '/wallet/recharge', { token: bare.adminToken, body: { amount: 1 } }),
    ).toMatchObject({ status: 409, body: { code: 'payments_not_configured' } });
    expect(
      await bare.call('POST', '/wallet/withdraw', {
        token: bare.adminToken,
        body: { user_id: 1, amount: 1, note: 'n', to: 'provider' },
      }),
    ).toMatchObject({ status: 409, body: { code: 'payments_not_configured' } });
    expect((await send(`${bare.url}/webhooks/stripe`, 'POST', { rawBody: '{}' })).status).toBe(404);
  } finally {
    await bare.stop();
  }
}, 60_000);

test.each([
  ['USD', 1_230_000n, 123],
  ['JPY', 5_000_000n, 5],
  ['KWD', 1_250_000n, 1250],
])('%s: %d micro-units are %d smallest units and back', (currency, amount, units) => {
  expect(toMinorUnits(micros(amount), currency)).toBe(units);
  expect(fromMinorUnits(units, currency)).toBe(amount);
});

test.each([
  ['USD', 1_234_500n],
  ['JPY', 5_500_000n],
  ['KWD', 1_251_000n],
])('%s cannot pay %d micro-units', (currency, amount) => {
  expect(toMinorUnits(micros(amount), currency)).toBeUndefined();
});
