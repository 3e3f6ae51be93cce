import { AdminClient, runOps, type Tollgate, until } from '@tollgate/harness';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { fleetStatus } from './fleet-view.ts';
import { drawSecret, FIRST_UPSTREAM_KEY, NODES, PLANES, RotationStage } from './rotation-stage.ts';

/** The installation's own secrets are changed as docs/operations.md says: not a request fails. */

let stage: RotationStage;
let tollgate: Tollgate;
beforeAll(async () => {
  stage = await RotationStage.set();
  ({ tollgate } = stage);
  Object.assign(now, tollgate.secrets);
}, 120_000);
afterAll(() => stage?.end(), 60_000);
afterEach(() => {
  expect(stage.failed()).toEqual([]);
});

/** Holds what the processes run with. */
const now = { jwt: '', encryption: '', fleet: '' };
const isSignedIn = (url: string, token: string): Promise<boolean> =>
  new AdminClient(url, token).call('GET', '/auth/me').then(
    () => true,
    () => false,
  );
const signIn = async (url: string): Promise<string> => {
  const { username, password } = tollgate.adminCredentials;
  return (await new AdminClient(url).login(username, password)).token ?? '';
};
async function expectSession(token: string, isGood: boolean): Promise<void> {
  for (const url of tollgate.adminUrls) expect(await isSignedIn(url, token)).toBe(isGood);
}
const openAlerts = async (): Promise<unknown[]> =>
  (await tollgate.admin.list('/admin/alerts?status=open')).filter(
    ({ rule }) => rule === 'bad_node_proof' || rule === 'dead_letter' || rule === 'redis_tampered',
  );
const ops = (...args: string[]) =>
  runOps(
    {
      DATABASE_URL: tollgate.databaseUrl,
      ENCRYPTION_KEY: now.encryption,
      FLEET_CREDENTIAL: now.fleet,
    },
    ...args,
  );

test('JWT_SECRET: sessions of both secrets are good until the old one is taken away', async () => {
  const [before, next, old] = [await signIn(tollgate.adminUrl), drawSecret(), now.jwt];
  for (const env of [
    { JWT_SECRET: old, JWT_SECRET_NEXT: next },
    { JWT_SECRET: next, JWT_SECRET_NEXT: old },
  ])
    for (const name of PLANES) {
      await stage.roll([name], env);
      await expectSession(before, true);
      for (const url of tollgate.adminUrls) await expectSession(await signIn(url), true);
    }
  const after = await signIn(tollgate.adminUrl);
  await stage.roll(PLANES, { JWT_SECRET_NEXT: undefined });
  await expectSession(after, true);
  await expectSession(before, false);
  tollgate.admin = new AdminClient(tollgate.adminUrl, after);
}, 240_000);

test('ENCRYPTION_KEY: everything sealed is sealed again, and nothing needs the old key', async () => {
  const [next, old] = [drawSecret(), now.encryption];
  const all = [...PLANES, ...NODES];
  await stage.roll(all, { ENCRYPTION_KEY_NEXT: next });
  await stage.roll(all, { ENCRYPTION_KEY: next, ENCRYPTION_KEY_NEXT: old });
  now.encryption = next;
  const { status, out } = await ops('rotate', 'encryption-key');
  expect([status, out]).toEqual([0, expect.stringContaining('no other key is needed')]);
  await tollgate.admin.syncAll();
  await stage.roll(all, { ENCRYPTION_KEY_NEXT: undefined });
  await stage.giveUpstreamsKey(FIRST_UPSTREAM_KEY);
}, 300_000);

test('FLEET_CREDENTIAL: nodes move to the next one while both are accepted', async () => {
  const [next, old] = [drawSecret(), now.fleet];
  await stage.roll(PLANES, { FLEET_CREDENTIAL_NEXT: next });
  await stage.roll(NODES, { NODE_CREDENTIAL: next });
  await stage.roll(PLANES, { FLEET_CREDENTIAL: next, FLEET_CREDENTIAL_NEXT: old });
  now.fleet = next;
  await stage.roll(PLANES, { FLEET_CREDENTIAL_NEXT: undefined });
  await until('a fleet that is believed', async () =>
    (await fleetStatus(tollgate)).nodes.every(({ state }) => state === 'online'),
  );
  expect(await openAlerts()).toEqual([]);
}, 300_000);

test("a node's credential: the former one is accepted until it is restarted with its own", async () => {
  const { status, out, err } = await ops('rotate', 'node', 'node-1');
  expect([status, err]).toEqual([0, '']);
  const credential = /NODE_CREDENTIAL of node-1: (\S+)/.exec(out)?.[1];
  await stage.served(30);
  expect(await openAlerts()).toEqual([]);
  await stage.roll(['node-1'], { NODE_CREDENTIAL: credential });
  await until('a fleet that is believed', async () =>
    (await fleetStatus(tollgate)).nodes.every(({ state }) => state === 'online'),
  );
  expect(await openAlerts()).toEqual([]);
}, 120_000);

test('after all of it the books close', () => stage.closeBooks(), 120_000);
