import { describe, expect, test } from '@jest/globals';
import { LiveRecords, MeteringStore } from '@tollgate/keyspace';
import { parseApiKey } from '@tollgate/contracts';
import { eventually } from '@tollgate/harness';
import { ledgerOf } from '../../testing/ledger-under-test.ts';
import { asAdmin, plane } from './users-under-test.ts';

describe('what hangs on an account', () => {
  test('the very next admission sees a freeze, an unfreeze and a deletion (S17)', async () => {
    const ledger = ledgerOf(plane);
    await ledger.initialiseShards();
    const user = await plane.createUser('live');
    const { key } = (
      await plane.call('POST', '/keys', { token: user.token, body: { name: 'one' } })
    ).body;
    const { hash = '', accountId = 0 } = parseApiKey(key) ?? {};
    const access = () =>
      plane.app.get(MeteringStore).access({ accountId, keyHash: hash, addressHex: '' });
    expect(await access()).toMatchObject({ kind: 'allowed' });
    await asAdmin('POST', `/users/${user.id}/freeze`);
    expect(await access()).toMatchObject({ kind: 'account_not_active', status: 'frozen' });
    await asAdmin('POST', `/users/${user.id}/unfreeze`);
    expect(await access()).toMatchObject({ kind: 'allowed' });
    await asAdmin('DELETE', `/users/${user.id}`);
    expect(await access()).not.toMatchObject({ kind: 'allowed' });
  });

  test('deleting it deletes its keys, in the list as in Redis', async () => {
    const ledger = ledgerOf(plane);
    await ledger.initialiseShards();
    const [gone, stays] = [await plane.createUser('gone'), await plane.createUser('stays')];
    const keys = [];
    for (const owner of [gone, gone, stays])
      keys.push(
        (await plane.call('POST', '/keys', { token: owner.token, body: { name: 'one' } })).body,
      );
    expect((await asAdmin('DELETE', `/users/${gone.id}`)).status).toBe(204);
    const listed = new Set(
      (await asAdmin('GET', '/keys?page_size=100')).body.data.map((key: { id: number }) => key.id),
    );
    expect(keys.map((key) => listed.has(key.id))).toEqual([false, false, true]);
    const live = await Promise.all(
      keys.map(({ user_id: owner, key }) =>
        plane.app.get(LiveRecords).getKey(owner, parseApiKey(key)?.hash ?? ''),
      ),
    );
    expect(live.map((record) => record?.status)).toEqual(['deleted', 'deleted', 'enabled']);
  });

  test('a key made while its account is being deleted never stays', async () => {
    const users = await Promise.all(
      ['race1', 'race2', 'race3', 'race4'].map((name) => plane.createUser(name)),
    );
    await Promise.all(
      users.flatMap(({ id }) => [
        ...Array.from({ length: 5 }, () => asAdmin('POST', '/keys', { name: 'late', user_id: id })),
        asAdmin('DELETE', `/users/${id}`),
      ]),
    );
    expect(
      await plane.dataSource.query(
        "SELECT id FROM api_keys WHERE status <> 'deleted' AND user_id = ANY($1)",
        [users.map(({ id }) => id)],
      ),
    ).toEqual([]);
  });

  test('tokens keep it from being deleted until they are forfeited, and then all of them leave the ledger', async () => {
    const ledger = ledgerOf(plane);
    await ledger.initialiseShards();
    const account = await ledger.account('12');
    const model = await ledger.model('1000000');
    expect(
      (
        await plane.call('POST', '/models/subscribe', {
          token: account.token,
          body: { model_id: model.id, tokens: 10 },
        })
      ).status,
    ).toBe(201);
    expect(await asAdmin('DELETE', `/users/${account.id}`)).toMatchObject({
      status: 409,
      body: {
        code: 'account_not_empty',
        detail: 'The account holds 2 USD and 10 tokens; add ?forfeit=true to give them up',
      },
    });
    expect((await asAdmin('DELETE', `/users/${account.id}?forfeit=true`)).status).toBe(204);
    await eventually(async () =>
      expect(await ledger.subscription(account, model)).toMatchObject({
        status: 'closed',
        balance: '0',
      }),
    );
    expect(await ledger.wallet(account)).toBe(0n);
    expect(await ledger.violations()).toEqual({});
  });
});
