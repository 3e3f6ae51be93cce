import { describe, expect, test } from '@jest/globals';
import { plane, user, asAdmin, balanceOf, expectClosedBooks } from './wallet-under-test.ts';

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
    const logs = await plane.call('GET', `/wallet/logs?kind=adjustment&user_id=${one.id}`, {
      token: plane.adminToken,
    });
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
