import { describe, expect, test } from '@jest/globals';
import {
  balance,
  eventOf,
  notify,
  plane,
  recharge,
  SECRET_KEY,
  signer,
  stripeServer,
  user,
  WEBHOOK_SECRET,
} from './payments-under-test.ts';

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
