import { describe, expect, test } from '@jest/globals';
import { PASSWORD } from '../../testing/control-plane-under-test.ts';
import type { UserMove, UserStatus } from './user-transitions.ts';
import { asAdmin, plane, register } from './users-under-test.ts';

type Move = Exclude<UserMove, 'delete'>;
type Status = Exclude<UserStatus, 'deleted'>;

/** For each status the moves that bring a fresh account into it, and where each further move leads; all others are refused. */
const LIVES: Record<Status, { way: Move[]; leads: Partial<Record<Move, Status>> }> = {
  pending: { way: [], leads: { approve: 'active', reject: 'rejected' } },
  active: { way: ['approve'], leads: { freeze: 'frozen' } },
  rejected: { way: ['reject'], leads: { approve: 'active' } },
  frozen: { way: ['approve', 'freeze'], leads: { unfreeze: 'active' } },
};
const MOVES: Move[] = ['approve', 'reject', 'freeze', 'unfreeze'];

describe('the life of an account', () => {
  test.each(
    Object.entries(LIVES).flatMap(([status, { way, leads }]) =>
      MOVES.map((move) => ({ status, way, move, expected: leads[move] })),
    ),
  )('$status and then $move', async ({ status, way, move, expected }) => {
    const { id } = await register();
    for (const step of way)
      expect((await asAdmin('POST', `/users/${id}/${step}`)).status).toBe(200);
    const answer = await asAdmin('POST', `/users/${id}/${move}`);
    if (expected) expect(answer).toMatchObject({ status: 200, body: { id, status: expected } });
    else expect(answer).toMatchObject({ status: 409, body: { code: 'invalid_transition' } });
    expect((await asAdmin('GET', `/users/${id}`)).body.status).toBe(expected ?? status);
  });

  test.each(Object.entries(LIVES))('deletion ends an account that is %s', async (_, { way }) => {
    const { id } = await register();
    for (const step of way) await asAdmin('POST', `/users/${id}/${step}`);
    expect((await asAdmin('DELETE', `/users/${id}`)).status).toBe(204);
    expect((await asAdmin('GET', `/users/${id}`)).status).toBe(404);
    expect((await asAdmin('DELETE', `/users/${id}`)).status).toBe(404);
  });

  test('a deleted account is unknown and its name is free again', async () => {
    const { id, username } = await register();
    expect((await asAdmin('DELETE', `/users/${id}`)).status).toBe(204);
    for (const [method, path] of [
      ['GET', ''],
      ['DELETE', ''],
      ['POST', '/approve'],
      ['POST', '/freeze'],
    ] as const)
      expect((await asAdmin(method, `/users/${id}${path}`)).status).toBe(404);
    expect(
      (await plane.call('POST', '/auth/register', { body: { username, password: PASSWORD } }))
        .status,
    ).toBe(201);
  });

  test('the refusal of an unknown id names its kind', async () => {
    for (const [path, kind] of [
      ['users', 'account'],
      ['keys', 'key'],
      ['models', 'model'],
      ['upstreams', 'upstream'],
      ['routing', 'route'],
      ['proxy-nodes', 'node'],
    ] as const) {
      expect((await asAdmin('GET', `/${path}/999999`)).body).toMatchObject({
        code: 'not_found',
        detail: `There is no ${kind} 999999`,
      });
    }
    expect((await asAdmin('GET', '/wallet?user_id=999999')).body.detail).toBe(
      'There is no account 999999',
    );
  });

  test.each(['0', '-1', 'abc', '99999999999', '1e3', '1.5'])(
    'an id like %s is unknown',
    async (id) => {
      expect(await asAdmin('GET', `/users/${id}`)).toMatchObject({
        status: 404,
        body: { code: 'not_found' },
      });
    },
  );

  test('money keeps an account from being deleted until it is forfeited, and the ledger says so', async () => {
    const { id } = await register();
    await asAdmin('POST', `/users/${id}/approve`);
    await asAdmin('POST', '/wallet/admin-recharge', { user_id: id, amount: '2.5' });
    expect(await asAdmin('DELETE', `/users/${id}`)).toMatchObject({
      status: 409,
      body: {
        code: 'account_not_empty',
        detail: 'The account holds 2.5 USD; add ?forfeit=true to give it up',
      },
    });
    expect((await asAdmin('DELETE', `/users/${id}?forfeit=true`)).status).toBe(204);
    const entries = await plane.dataSource.query(
      `SELECT e.amount, e.balance_after FROM ledger_entries e JOIN ledger_transactions t ON t.id = e.transaction_id JOIN ledger_accounts a ON a.id = e.ledger_account_id
       WHERE t.kind = 'forfeit' AND a.user_id = $1`,
      [id],
    );
    expect(entries).toEqual([{ amount: '-2500000', balance_after: '0' }]);
  });
});
