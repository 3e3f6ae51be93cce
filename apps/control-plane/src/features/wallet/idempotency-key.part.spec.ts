import { describe, expect, test } from '@jest/globals';
import { plane, user, asAdmin, balanceOf } from './wallet-under-test.ts';

describe('Idempotency-Key', () => {
  test('100 parallel recharges with one key have one effect (S28)', async () => {
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
