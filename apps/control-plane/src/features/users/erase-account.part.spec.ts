import { beforeAll, expect, test } from '@jest/globals';
import { Transactions } from '../../platform/database/transactions.ts';
import { ledgerOf } from '../../testing/ledger-under-test.ts';
import type { ControlPlane } from '../../testing/control-plane-under-test.ts';
import { sharedControlPlane } from '../../testing/shared-plane-under-test.ts';
import { ActivityService } from '../activity/activity.service.ts';
import { eraseAccount } from './erase-account.sql.ts';

const NAME = 'ada-lovelace';
let plane: ControlPlane;
let ledger: ReturnType<typeof ledgerOf>;
let activity: ActivityService;
let userId: number;
beforeAll(async () => {
  plane = await sharedControlPlane();
  ledger = ledgerOf(plane);
  activity = plane.app.get(ActivityService, { strict: false });
  await ledger.initialiseShards();
  const user = await plane.createUser(NAME);
  userId = user.id;
  const admin = { token: plane.adminToken };
  await plane.call('POST', '/wallet/admin-recharge', {
    ...admin,
    body: { user_id: userId, amount: '10', note: `for ${NAME}` },
  });
  const model = await ledger.model('1');
  await plane.call('POST', '/models/subscribe', {
    token: user.token,
    body: { model_id: model.id, tokens: 1_000 },
  });
  const { body: key } = await plane.call('POST', '/keys', {
    token: user.token,
    body: { name: `laptop of ${NAME}`, allowed_models: '*', rpm: 0, rph: 0, rpd: 0 },
  });
  // An administrator's acts on things of the account are logged with the account's own words.
  await plane.call('POST', `/keys/${key.id}/disable`, admin);
  const { body: made } = await plane.call('POST', '/auth/tokens', {
    token: user.token,
    body: { name: `script of ${NAME}`, scope: 'read' },
  });
  await plane.call('DELETE', `/auth/tokens/${made.id}`, admin);
}, 60_000);

const erase = (isDryRun = false) =>
  plane.app.get(Transactions).run((tx) => eraseAccount(tx, activity, { userId, isDryRun }));
/** Counts every row of the database that has the name, by table. */
async function named(): Promise<Record<string, number>> {
  const tables: { name: string }[] = await ledger.query(
    "SELECT relname AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition",
  );
  const found: Record<string, number> = {};
  for (const { name } of tables) {
    const [row] = await ledger.query(
      `SELECT count(*)::int AS rows FROM "${name}" t WHERE t::text ILIKE '%${NAME}%'`,
    );
    if (row.rows > 0) found[name] = row.rows;
  }
  return found;
}

test('an account that is not deleted is not erased', async () => {
  await expect(erase()).rejects.toThrow('Delete it first');
});

test('no row names the person any more; the books close and the chain of the activity log is whole', async () => {
  await plane.call('DELETE', `/users/${userId}?forfeit=true`, { token: plane.adminToken });
  const before = await named();
  expect(Object.keys(before)).toEqual(
    expect.arrayContaining(['users', 'activity_log', 'api_keys', 'ledger_transactions']),
  );
  const counted = await erase(true);
  expect(await named()).toEqual(before);
  expect(await erase()).toEqual(counted);
  expect(await named()).toEqual({});
  expect(await ledger.violations()).toEqual({});
  expect(await activity.verify()).toMatchObject({ brokenAt: null });
  expect(Object.values((await erase()) ?? {}).every((rows) => rows === 0)).toBe(true);
});

test('an administrator sees what an erasure would empty, confirms by the name, and the log says who asked for it', async () => {
  const admin = { token: plane.adminToken };
  const { id } = await plane.createUser('grace-hopper');
  expect(await plane.call('GET', `/users/${id}/erasure`, admin)).toMatchObject({
    status: 409,
    body: { code: 'invalid_transition' },
  });
  await plane.call('DELETE', `/users/${id}`, admin);
  const listed = await plane.call('GET', '/users?status=deleted&q=grace-hopper', admin);
  expect(listed.body.data).toMatchObject([{ id, status: 'deleted' }]);
  expect((await plane.call('GET', '/users?q=grace-hopper', admin)).body.total).toBe(0);
  const preview = await plane.call('GET', `/users/${id}/erasure`, admin);
  expect(preview.body).toMatchObject({
    username: 'grace-hopper',
    rows: expect.arrayContaining([{ table: 'users', rows: 1 }]),
  });
  const erase = (username: string) =>
    plane.call('POST', `/users/${id}/erase`, { ...admin, body: { username } });
  expect(await erase('grace')).toMatchObject({ status: 409, body: { code: 'name_not_confirmed' } });
  expect((await plane.call('GET', `/users/${id}/erasure`, admin)).body).toEqual(preview.body);
  expect(await erase('grace-hopper')).toMatchObject({ status: 200, body: preview.body });
  const after = await plane.call('GET', `/users/${id}/erasure`, admin);
  expect(after.body).toEqual({ user_id: id, username: `erased-${id}`, rows: [] });
  const [asked] = await ledger.query(
    "SELECT actor_name, after FROM activity_log WHERE action = 'user.ask-erasure' AND target_id = $1",
    [String(id)],
  );
  expect(asked).toEqual({ actor_name: 'root', after: { rows: preview.body.rows } });
  expect(await activity.verify()).toMatchObject({ brokenAt: null });
});

test('only what an erasure has emptied is excused, and only by the later entry that names its hash', async () => {
  const { entries } = await activity.verify();
  const force = async (sql: string): Promise<number | null> => {
    await ledger.query(`ALTER TABLE activity_log DISABLE TRIGGER USER; ${sql}`);
    const { brokenAt } = await activity.verify();
    return brokenAt;
  };
  const [emptied] = await ledger.query(
    'SELECT id, hash FROM activity_log WHERE actor_name IS NULL AND after IS NULL ORDER BY id LIMIT 1',
  );
  const id = Number(emptied.id);
  expect(await force(`UPDATE activity_log SET address = '1.2.3.4' WHERE id = ${id}`)).toBe(id);
  expect(await force(`UPDATE activity_log SET address = NULL WHERE id = ${id}`)).toBeNull();
  const [other] = await ledger.query(
    "SELECT * FROM activity_log WHERE actor_name = 'root' ORDER BY id LIMIT 1",
  );
  const otherId = Number(other.id);
  expect(
    await force(
      `UPDATE activity_log SET actor_name = NULL, address = NULL, before = NULL, after = NULL WHERE id = ${otherId}`,
    ),
  ).toBe(otherId);
  await ledger.query(
    'UPDATE activity_log SET actor_name = $2, address = $3, before = $4, after = $5 WHERE id = $1',
    [
      otherId,
      other.actor_name,
      other.address,
      JSON.stringify(other.before),
      JSON.stringify(other.after),
    ],
  );
  expect((await activity.verify()).entries).toBe(entries);
  // Without its excuse an emptied entry breaks the chain.
  expect(
    await force("UPDATE activity_log SET after = '{\"entries\": {}}' WHERE action = 'user.erase'"),
  ).toBe(id);
  await ledger.query('ALTER TABLE activity_log ENABLE TRIGGER USER');
});

test('ledgers and log stay append-only for everything else, also for who says it erases', async () => {
  for (const change of [
    "UPDATE ledger_transactions SET note = 'x'",
    "UPDATE ledger_transactions SET reference = 'x'",
    'UPDATE ledger_entries SET amount = 1',
    "UPDATE activity_log SET action = 'x'",
    'DELETE FROM activity_log',
  ])
    // PostgreSQL's administrator is refused too; the control plane has not even the right to try.
    for (const [dataSource, refusal] of [
      [plane.administrator, 'append-only'],
      [plane.dataSource, 'permission denied'],
    ] as const)
      await expect(
        dataSource.transaction(async (tx) => {
          await tx.query("SET LOCAL tollgate.erasing = 'on'");
          await tx.query(change);
        }),
      ).rejects.toThrow(refusal);
  await expect(ledger.query('UPDATE activity_log SET address = NULL')).rejects.toThrow(
    'append-only',
  );
});
