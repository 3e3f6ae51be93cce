import type { Tollgate } from '@tollgate/harness';
import { openRedis, primariesOf, redisReady, type RedisConnection } from '@tollgate/keyspace';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { drawSecret, FIRST_UPSTREAM_KEY, NODES, PLANES, RotationStage } from './rotation-stage.ts';

/** Passwords of Redis and PostgreSQL and keys of upstreams are changed as docs/operations.md says: not a request fails. */

/** Matches the password in an address of Redis: that of a cluster, with several servers, is no URL. */
const PASSWORD = /:([^:@/]*)@/;

let stage: RotationStage;
let tollgate: Tollgate;
let redis: RedisConnection;
beforeAll(async () => {
  stage = await RotationStage.set();
  ({ tollgate } = stage);
}, 120_000);
afterAll(async () => {
  redis?.disconnect();
  await stage?.end();
}, 60_000);
afterEach(() => {
  expect(stage.failed()).toEqual([]);
});
test("passwords of Redis' users: both are valid until the last process has the new one", async () => {
  redis = openRedis(tollgate.redisUrl, {
    role: 'plain',
    name: 'spec',
    onError: () => {},
  });
  await redisReady(redis, 5_000);
  const setUser = (user: string, rule: string): Promise<unknown> =>
    Promise.all(primariesOf(redis).map((primary) => primary.call('ACL', 'SETUSER', user, rule)));
  const next = drawSecret();
  const urlFor = (url: string): string => url.replace(PASSWORD, `:${next}@`);
  const { controlPlane, node, queue } = tollgate.services.redisUrls;
  const passwordOf = (url: string): string => PASSWORD.exec(url)?.[1] ?? '';
  for (const user of ['control-plane', 'node', 'bullmq']) await setUser(user, `>${next}`);
  await stage.roll(PLANES, { REDIS_URL: urlFor(controlPlane), REDIS_QUEUE_URL: urlFor(queue) });
  await stage.roll(NODES, { REDIS_URL: urlFor(node), REDIS_QUEUE_URL: urlFor(queue) });
  await setUser('control-plane', `<${passwordOf(controlPlane)}`);
  await setUser('node', `<${passwordOf(node)}`);
  await setUser('bullmq', `<${passwordOf(queue)}`);
  // Connections that are open stay; new ones need the new password.
  await stage.roll(['node-1', 'control-plane'], {});
}, 180_000);

test("PostgreSQL's password: a second role with the rights of the first takes over", async () => {
  const database = new pg.Client({ connectionString: tollgate.databaseUrl });
  await database.connect();
  const { runtime } = tollgate.services.databaseUrls;
  const { username, password } = new URL(runtime);
  const next = drawSecret();
  await database.query(
    `CREATE ROLE tollgate_b LOGIN PASSWORD '${next}' IN ROLE ${username}; ALTER ROLE tollgate_b SET role = '${username}'`,
  );
  const url = new URL(runtime);
  Object.assign(url, { username: 'tollgate_b', password: next });
  await stage.roll(PLANES, { DATABASE_URL: url.href });
  await database.query(`ALTER ROLE ${username} PASSWORD '${drawSecret()}'`);
  await stage.roll(PLANES, {});
  const { rows } = await database.query(
    "SELECT DISTINCT usename FROM pg_stat_activity WHERE application_name = 'tollgate-control-plane'",
  );
  expect(rows).toEqual([{ usename: 'tollgate_b' }]);
  await stage.served(30);
  await database.query(`ALTER ROLE ${username} PASSWORD '${password}'`);
  await database.end();
}, 180_000);

test("an upstream's key: both are valid at the provider until every node has the new one", async () => {
  stage.gate.allow('upstream-key-of-after');
  await stage.giveUpstreamsKey('upstream-key-of-after');
  await stage.served(30);
  stage.gate.revoke(FIRST_UPSTREAM_KEY);
  const before = stage.gate.used.get(FIRST_UPSTREAM_KEY) ?? 0;
  await stage.served(60);
  expect(stage.gate.used.get(FIRST_UPSTREAM_KEY) ?? 0).toBe(before);
}, 60_000);

test('after all of it the books close', () => stage.closeBooks(), 120_000);
