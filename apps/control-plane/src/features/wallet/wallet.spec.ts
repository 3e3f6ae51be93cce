import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { formatAmount, micros, type Micros } from '@tollgate/money';
import fc from 'fast-check';
import { Refusal } from '../../platform/http/refusal.ts';
import { Transactions } from '../../platform/database/transactions.ts';
import { startControlPlane, type ControlPlane } from '../../testing/control-plane-under-test.ts';
import { LedgerService, type LedgerAccountRef, type LedgerKind } from './ledger.service.ts';

let plane: ControlPlane;
let ledger: LedgerService;
let transactions: Transactions;
let user: { id: number; token: string };
let other: { id: number; token: string };
beforeAll(async () => {
  plane = await startControlPlane();
  ledger = plane.app.get(LedgerService, { strict: false });
  transactions = plane.app.get(Transactions);
  [user, other] = await Promise.all([plane.createUser('anna'), plane.createUser('berta')]);
}, 60_000);
afterAll(() => plane?.stop());

const asAdmin = (path: string, body: unknown, headers: Record<string, string> = {}) =>
  plane.call('POST', path, { token: plane.adminToken, body, headers });
const balanceOf = async (who: { token: string }) =>
  (await plane.call('GET', '/wallet', { token: who.token })).body.balance as string;

/** What must hold after anything: every transaction sums to zero, every balance is the sum of its entries and its last balance_after, no wallet is negative. */
async function expectClosedBooks(): Promise<void> {
  expect(
    await plane.dataSource.query(
      'SELECT transaction_id FROM ledger_entries GROUP BY transaction_id HAVING sum(amount) <> 0',
    ),
  ).toEqual([]);
  expect(
    await plane.dataSource.query(
      `SELECT a.id FROM ledger_accounts a LEFT JOIN ledger_entries e ON e.ledger_account_id = a.id
       GROUP BY a.id HAVING a.balance <> coalesce(sum(e.amount), 0) OR a.balance <> coalesce((array_agg(e.balance_after ORDER BY e.id DESC))[1], 0)`,
    ),
  ).toEqual([]);
  expect(
    await plane.dataSource.query(
      "SELECT id FROM ledger_accounts WHERE kind = 'wallet' AND balance < 0",
    ),
  ).toEqual([]);
}

describe('recharging', () => {
  test('by an administrator credits the wallet and shows in its log', async () => {
    const answer = await asAdmin('/wallet/admin-recharge', {
      user_id: user.id,
      amount: '12.5',
      note: 'welcome',
    });
    expect(answer).toMatchObject({
      status: 200,
      body: { user_id: user.id, amount: '12.5', balance: '12.5', currency: 'USD' },
    });
    const logs = await plane.call('GET', '/wallet/logs', { token: user.token });
    expect(logs.body).toMatchObject({
      total: 1,
      data: [
        {
          kind: 'admin_recharge',
          amount: '12.5',
          balance_after: '12.5',
          note: 'welcome',
          actor_user_id: 1,
        },
      ],
    });
  });

  test('online goes through the sandbox and credits at once', async () => {
    const before = Number(await balanceOf(user));
    const answer = await plane.call('POST', '/wallet/recharge', {
      token: user.token,
      body: { amount: 3.25 },
    });
    expect(answer).toMatchObject({
      status: 201,
      body: {
        user_id: user.id,
        provider: 'sandbox',
        status: 'paid',
        amount: '3.25',
        checkout_url: null,
      },
    });
    expect(Number(await balanceOf(user))).toBe(before + 3.25);
  });

  test.each([
    -1,
    0,
    1e308,
    '1e3',
    'NaN',
    null,
    true,
    2 ** 53,
    '9223372036854775808',
    0.1 + 0.2,
    '0.0000001',
    '',
    ' 1',
    '1,5',
    '0x10',
    [],
    {},
  ])('refuses the amount %j (S25)', async (amount) => {
    const before = await balanceOf(user);
    expect(await asAdmin('/wallet/admin-recharge', { user_id: user.id, amount })).toMatchObject({
      status: 400,
      body: { code: 'invalid_request', errors: [{ field: 'amount' }] },
    });
    expect(
      await plane.call('POST', '/wallet/recharge', { token: user.token, body: { amount } }),
    ).toMatchObject({ status: 400 });
    expect(await balanceOf(user)).toBe(before);
  });

  test('beyond what a wallet can hold is refused and changes nothing', async () => {
    const { id, token } = await plane.createUser('midas');
    expect(
      (await asAdmin('/wallet/admin-recharge', { user_id: id, amount: '9000000000000' })).status,
    ).toBe(200);
    expect(
      await asAdmin('/wallet/admin-recharge', { user_id: id, amount: '9000000000000' }),
    ).toMatchObject({ status: 409, body: { code: 'balance_limit' } });
    expect(await balanceOf({ token })).toBe('9000000000000');
  });

  test('the house accounts stand against all wallets together: no full wallet keeps another from being filled', async () => {
    const wallets = await Promise.all(['croesus', 'crassus'].map((name) => plane.createUser(name)));
    for (const { id } of wallets)
      expect(
        (await asAdmin('/wallet/admin-recharge', { user_id: id, amount: '9200000000000.123456' }))
          .status,
      ).toBe(200);
    const grants = BigInt(
      (await plane.dataSource.query("SELECT balance FROM ledger_accounts WHERE kind = 'grants'"))[0]
        .balance,
    );
    expect(grants).toBeLessThan(-(2n ** 63n));
    expect(
      (await plane.call('GET', '/admin/dashboard', { token: plane.adminToken })).body.money.grants,
    ).toBe(formatAmount(grants));
    const refund = [
      { account: { kind: 'revenue' } as const, amount: micros(-(10n ** 18n)) },
      {
        account: { kind: 'wallet', userId: wallets[0]?.id ?? 0 } as const,
        amount: micros(10n ** 18n),
      },
    ];
    expect(
      await transactions.run((tx) =>
        ledger.post(tx, {
          kind: 'refund',
          reference: 'to-the-full',
          actorUserId: null,
          entries: refund,
        }),
      ),
    ).toMatchObject({ id: expect.any(Number) });
    expect(await balanceOf({ token: wallets[0]?.token ?? '' })).toBe('10200000000000.123456');
    expect(
      (await plane.call('GET', '/wallet/logs', { token: wallets[1]?.token ?? '' })).body.data,
    ).toMatchObject([{ amount: '9200000000000.123456', balance_after: '9200000000000.123456' }]);
    await expectClosedBooks();
  });

  test('an unknown account is 404, for users every other account is (S24)', async () => {
    expect((await asAdmin('/wallet/admin-recharge', { user_id: 999_999, amount: 1 })).status).toBe(
      404,
    );
    const asUser = (method: string, path: string, body?: unknown) =>
      plane.call(method, path, { token: user.token, ...(body ? { body } : {}) });
    for (const id of [other.id, 1, 999_999]) {
      expect((await asUser('GET', `/wallet?user_id=${id}`)).status).toBe(404);
      expect((await asUser('GET', `/wallet/logs?user_id=${id}`)).status).toBe(404);
      expect((await asUser('GET', `/wallet/logs?user_id=${id}&format=csv`)).status).toBe(404);
      expect((await asUser('POST', '/wallet/recharge', { amount: 1, user_id: id })).status).toBe(
        404,
      );
    }
    expect(
      (await asUser('POST', '/wallet/admin-recharge', { user_id: user.id, amount: 1 })).status,
    ).toBe(403);
    expect(
      (await plane.call('GET', `/wallet?user_id=${user.id}`, { token: plane.adminToken })).body,
    ).toEqual({
      balance: await balanceOf(user),
      currency: 'USD',
      payments: 'sandbox',
    });
  });

  test('the ledger as CSV runs nothing in a spreadsheet (S42)', async () => {
    await asAdmin('/wallet/admin-recharge', {
      user_id: other.id,
      amount: 1,
      note: '=HYPERLINK("http://evil.example")',
    });
    const csv = await plane.call('GET', '/wallet/logs?format=csv', { token: other.token });
    expect(csv.headers.get('content-type')).toMatch(/^text\/csv/);
    expect(csv.headers.get('content-disposition')).toContain('attachment');
    expect(csv.body.split('\r\n')[0]).toBe(
      'id,transaction_id,created_at,kind,amount,balance_after,reference,note,actor_user_id',
    );
    expect(csv.body).toContain(`"'=HYPERLINK(""http://evil.example"")"`);
  });
});

describe('Idempotency-Key', () => {
  test('100 parallel recharges with one key have one effect', async () => {
    const { id, token } = await plane.createUser('hundred');
    const answers = await Promise.all(
      Array.from({ length: 100 }, () =>
        asAdmin(
          '/wallet/admin-recharge',
          { user_id: id, amount: '7' },
          { 'idempotency-key': 'once' },
        ),
      ),
    );
    expect(await balanceOf({ token })).toBe('7');
    const done = answers.filter((answer) => answer.status === 200);
    expect(done.length).toBeGreaterThan(0);
    expect(new Set(done.map((answer) => answer.body.transaction_id)).size).toBe(1);
    for (const answer of answers.filter((candidate) => candidate.status !== 200))
      expect(answer).toMatchObject({ status: 409, body: { code: 'idempotency_in_progress' } });
    expect(
      await asAdmin(
        '/wallet/admin-recharge',
        { amount: '7', user_id: id },
        { 'idempotency-key': 'once' },
      ),
    ).toMatchObject({ status: 200, body: done[0]?.body });
  });

  test('used again with another body is 422, on another route or by another caller it is another key', async () => {
    const headers = { 'idempotency-key': 'shared' };
    expect(
      (await asAdmin('/wallet/admin-recharge', { user_id: user.id, amount: 1 }, headers)).status,
    ).toBe(200);
    expect(
      await asAdmin('/wallet/admin-recharge', { user_id: user.id, amount: 2 }, headers),
    ).toMatchObject({ status: 422, body: { code: 'idempotency_key_reused' } });
    expect((await asAdmin('/wallet/recharge', { amount: 2 }, headers)).status).toBe(201);
    expect(
      (
        await plane.call('POST', '/wallet/recharge', {
          token: user.token,
          body: { amount: 2 },
          headers,
        })
      ).status,
    ).toBe(201);
  });

  test('is forgotten after 24 hours', async () => {
    const headers = { 'idempotency-key': 'old' };
    const first = await asAdmin('/wallet/admin-recharge', { user_id: user.id, amount: 1 }, headers);
    await plane.dataSource.query(
      "UPDATE idempotency_keys SET created_at = created_at - interval '25 hours' WHERE key = 'old'",
    );
    const second = await asAdmin(
      '/wallet/admin-recharge',
      { user_id: user.id, amount: 1 },
      headers,
    );
    expect(second.body.transaction_id).not.toBe(first.body.transaction_id);
  });

  test('a refused request keeps nothing: the same key works once the reason is gone', async () => {
    const headers = { 'idempotency-key': 'later' };
    expect(
      (await asAdmin('/wallet/admin-recharge', { user_id: 999_998, amount: 1 }, headers)).status,
    ).toBe(404);
    expect(
      (await asAdmin('/wallet/admin-recharge', { user_id: user.id, amount: 1 }, headers)).status,
    ).toBe(200);
  });

  test.each(['x'.repeat(256), 'with space', 'ümlaut'])('of the form %j is refused', async (key) => {
    expect(
      (
        await asAdmin(
          '/wallet/admin-recharge',
          { user_id: user.id, amount: 1 },
          {
            'idempotency-key':
              encodeURIComponent(key).length === key.length
                ? key
                : Buffer.from(key).toString('latin1'),
          },
        )
      ).status,
    ).toBe(400);
  });
});

describe('the ledger', () => {
  test('any sequence of operations, in parallel, keeps the ledger balanced and no wallet negative', async () => {
    const wallets = await Promise.all(['p1', 'p2', 'p3'].map((name) => plane.createUser(name)));
    const house = ['payments', 'revenue', 'grants'] as const;
    const operation = fc.record({
      wallet: fc.nat(2),
      house: fc.constantFrom(...house),
      amount: fc.bigInt(1n, 5_000_000n),
      isCredit: fc.boolean(),
      reference: fc.nat(40),
    });
    let run = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(operation, { minLength: 1, maxLength: 30 }), async (operations) => {
        run += 1;
        await Promise.all(
          operations.map((step) => apply(step, `${run}:${step.reference}`, wallets)),
        );
        await expectClosedBooks();
      }),
      { numRuns: 15 },
    );
  });

  async function apply(
    step: {
      wallet: number;
      house: 'payments' | 'revenue' | 'grants';
      amount: bigint;
      isCredit: boolean;
    },
    reference: string,
    wallets: { id: number }[],
  ): Promise<void> {
    const wallet: LedgerAccountRef = { kind: 'wallet', userId: wallets[step.wallet]?.id ?? 0 };
    const kind: LedgerKind = step.isCredit ? 'recharge' : 'subscribe';
    const amount: Micros = micros(step.isCredit ? step.amount : -step.amount);
    const entries = [
      { account: wallet, amount },
      { account: { kind: step.house }, amount: micros(-amount) },
    ];
    await transactions
      .run((tx) => ledger.post(tx, { kind, reference, actorUserId: null, entries }))
      .catch((error: unknown) => {
        if (!(error instanceof Refusal && error.code === 'insufficient_funds')) throw error;
      });
  }

  test('posts one reference once, however often it is asked', async () => {
    const entries = [
      { account: { kind: 'wallet', userId: user.id } as const, amount: micros(5n) },
      { account: { kind: 'revenue' } as const, amount: micros(-5n) },
    ];
    const post = () =>
      transactions.run((tx) =>
        ledger.post(tx, {
          kind: 'refund',
          reference: 'withdrawal:x:0',
          actorUserId: null,
          entries,
        }),
      );
    const posted = await Promise.all(Array.from({ length: 20 }, post));
    expect(posted.filter((result) => result !== undefined)).toHaveLength(1);
  });

  test('100 parallel purchases never overdraw', async () => {
    const { id, token } = await plane.createUser('thrifty');
    await asAdmin('/wallet/admin-recharge', { user_id: id, amount: '10' });
    const buy = (index: number) =>
      transactions.run((tx) =>
        ledger.post(tx, {
          kind: 'renew',
          reference: `thrifty:${index}`,
          actorUserId: id,
          entries: [
            { account: { kind: 'wallet', userId: id }, amount: micros(-300_000n) },
            { account: { kind: 'revenue' }, amount: micros(300_000n) },
          ],
        }),
      );
    const results = await Promise.allSettled(Array.from({ length: 100 }, (_, index) => buy(index)));
    expect(results.filter((result) => result.status === 'fulfilled')).toHaveLength(33);
    expect(await balanceOf({ token })).toBe(formatAmount(100_000n));
    await expectClosedBooks();
  });

  test.each([
    ['change an entry', 'UPDATE ledger_entries SET amount = amount + 1'],
    ['delete an entry', 'DELETE FROM ledger_entries'],
    ['empty the table', 'TRUNCATE ledger_entries, ledger_transactions'],
    ['rewrite a transaction', "UPDATE ledger_transactions SET note = 'x'"],
    ['overdraw a wallet', "UPDATE ledger_accounts SET balance = -1 WHERE kind = 'wallet'"],
    [
      'post out of balance',
      "WITH t AS (INSERT INTO ledger_transactions (kind, reference) VALUES ('adjustment', 'one-sided') RETURNING id) INSERT INTO ledger_entries (transaction_id, ledger_account_id, amount, balance_after) SELECT id, 1, 5, 5 FROM t",
    ],
  ])('the database itself refuses to %s', async (_, statement) => {
    await expect(plane.dataSource.query(statement)).rejects.toThrow();
    await expectClosedBooks();
  });
});

describe('corrections by an administrator', () => {
  test('undo a typing error exactly, once for each key, and stay in the ledger', async () => {
    const one = await plane.createUser('mistyped');
    await asAdmin('/wallet/admin-recharge', { user_id: one.id, amount: '1000' });
    const undo = () =>
      plane.call('POST', '/wallet/adjust', {
        token: plane.adminToken,
        body: { user_id: one.id, amount: '-990', note: '1000 was meant to be 10' },
        headers: { 'idempotency-key': 'undo-mistyped' },
      });
    const first = await undo();
    expect(first).toMatchObject({ status: 200, body: { amount: '-990', balance: '10' } });
    expect((await undo()).body).toEqual(first.body);
    const logs = await plane.call('GET', '/wallet/logs?kind=adjustment', { token: one.token });
    expect(logs.body.data).toMatchObject([
      { amount: '-990', balance_after: '10', note: '1000 was meant to be 10', actor_user_id: 1 },
    ]);
    expect(await balanceOf(one)).toBe('10');
    await expectClosedBooks();
  });

  test('pay out what the wallet holds, not more', async () => {
    const one = await plane.createUser('leaving');
    await asAdmin('/wallet/admin-recharge', { user_id: one.id, amount: '12.5' });
    const withdraw = (amount: string) =>
      asAdmin('/wallet/withdraw', { user_id: one.id, amount, note: 'bank transfer 7' });
    expect(await withdraw('12.500001')).toMatchObject({
      status: 402,
      body: { code: 'insufficient_funds' },
    });
    expect(await withdraw('12.5')).toMatchObject({ body: { amount: '-12.5', balance: '0' } });
    const logs = await plane.call('GET', '/wallet/logs?kind=payout', { token: one.token });
    expect(logs.body.total).toBe(1);
    await expectClosedBooks();
  });

  test('are bounded, need a note and administrator rights', async () => {
    const body = { user_id: user.id, amount: '1', note: 'x' };
    for (const path of ['/wallet/adjust', '/wallet/withdraw']) {
      expect(await asAdmin(path, { ...body, amount: '100000.000001' })).toMatchObject({
        status: 409,
        body: { code: 'correction_limit' },
      });
      for (const wrong of [{ note: ' ' }, { note: undefined }, { amount: 0 }, { user_id: '1' }])
        expect((await asAdmin(path, { ...body, ...wrong })).status).toBe(400);
      expect((await asAdmin(path, { ...body, user_id: 999_999 })).status).toBe(404);
      expect((await plane.call('POST', path, { token: user.token, body })).status).toBe(403);
    }
    expect((await asAdmin('/wallet/adjust', { ...body, amount: '-100000' })).status).toBe(402);
    expect((await asAdmin('/wallet/withdraw', { ...body, amount: '-1' })).status).toBe(400);
  });
});
