import { describe, expect, test } from '@jest/globals';
import { formatAmount, micros } from '@tollgate/money';
import {
  plane,
  ledger,
  transactions,
  user,
  other,
  asAdmin,
  balanceOf,
  expectClosedBooks,
} from './wallet-under-test.ts';

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
          actor_role: 'administrator',
          actor_user_id: null,
          actor_name: null,
        },
      ],
    });
  });

  test('administrators read who moved the money, also where customers did it themselves', async () => {
    const payer = await plane.createUser('payer');
    await plane.call('POST', '/wallet/recharge', { token: payer.token, body: { amount: '3' } });
    await asAdmin('/wallet/admin-recharge', { user_id: payer.id, amount: '4' });
    const path = `/wallet/logs?user_id=${payer.id}` as const;
    const doers = async (token: string) =>
      (await plane.call('GET', path, { token })).body.data.map(
        (row: { actor_role: string; actor_name: string | null }) => [
          row.actor_role,
          row.actor_name,
        ],
      );
    const { body: me } = await plane.call('GET', '/auth/me', { token: plane.adminToken });
    expect(await doers(plane.adminToken)).toEqual([
      ['administrator', me.username],
      ['owner', 'payer'],
    ]);
    expect(await doers(payer.token)).toEqual([
      ['administrator', null],
      ['owner', null],
    ]);
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
    const asUser = <Method extends string, Path extends string>(
      method: Method,
      path: Path,
      body?: unknown,
    ) => plane.call(method, path, { token: user.token, ...(body ? { body } : {}) });
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
    expect(String(csv.body).split('\r\n')[0]).toBe(
      'id,transaction_id,created_at,kind,amount,balance_after,reference,note,actor_role,actor_user_id,actor_name,model',
    );
    expect(csv.body).toContain(`"'=HYPERLINK(""http://evil.example"")"`);
  });
});
