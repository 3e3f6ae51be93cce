import {
  chmodSync,
  chownSync,
  copyFileSync,
  lstatSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { request } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { closeClient } from '@tollgate/audit';
import { firstPostgres, runOps, startTollgate, type Tollgate, until } from '@tollgate/harness';
import { openRedis, redisReady } from '@tollgate/keyspace';
import { findFreePort } from '@tollgate/tools';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { Authority, type Certificate } from './certificates.ts';
import { closeBooks, setScene, SteadyLoad } from './steady-load.ts';

/** Certificates are for `localhost`: the address 127.0.0.1 is another name. */
let tollgate: Tollgate;
let authority: Authority;
let server: Certificate;
let client: Certificate;
let door: Server;
let redisPort: number;
let database: pg.Client;
let redis: ReturnType<typeof openRedis>;

beforeAll(async () => {
  // The TLS of one server is switched on and its plain port off while everything runs.
  tollgate = await startTollgate({ nodes: 1, redis: 'single' });
  authority = new Authority(path.join(tollgate.services.folder, 'tls'));
  server = authority.issue('localhost');
  client = authority.issue('tollgate_tls');
  database = new pg.Client({ connectionString: tollgate.databaseUrl });
  await database.connect();
  redis = openRedis(tollgate.redisUrl, { role: 'plain', name: 'spec', onError: () => undefined });
  await redisReady(redis, 5_000);
  await serveTlsOfPostgres();
  redisPort = await serveTlsOfRedis();
  door = await terminateTls();
}, 120_000);
afterAll(async () => {
  closeClient();
  door?.close();
  redis?.disconnect();
  await database?.end();
  await tollgate?.stop();
}, 60_000);

/** Serves TLS for all; the role `tollgate_tls` comes with a client certificate of its name, and in no other way. */
async function serveTlsOfPostgres(): Promise<void> {
  const { dataFolder } = firstPostgres(tollgate.services);
  const { uid, gid } = lstatSync(dataFolder);
  for (const [name, from] of [
    ['tls.crt', server.cert],
    ['tls.key', server.key],
    ['ca.crt', authority.cert],
  ] as const) {
    const file = path.join(dataFolder, name);
    copyFileSync(from, file);
    chownSync(file, uid, gid);
    chmodSync(file, 0o600);
  }
  const access = path.join(dataFolder, 'pg_hba.conf');
  writeFileSync(
    access,
    `hostssl all tollgate_tls all cert\nhostnossl all tollgate_tls all reject\n${readFileSync(access, 'utf8')}`,
  );
  await database.query(
    "CREATE ROLE tollgate_tls LOGIN IN ROLE tollgate_runtime; ALTER ROLE tollgate_tls SET role = 'tollgate_runtime'",
  );
  await database.query("ALTER SYSTEM SET ssl_cert_file = 'tls.crt'");
  await database.query("ALTER SYSTEM SET ssl_key_file = 'tls.key'");
  await database.query("ALTER SYSTEM SET ssl_ca_file = 'ca.crt'");
  await database.query('ALTER SYSTEM SET ssl = on');
  await database.query('SELECT pg_reload_conf()');
}
async function serveTlsOfRedis(): Promise<number> {
  const port = await findFreePort();
  for (const file of [server.key, authority.cert, server.cert]) chmodSync(file, 0o644);
  await redis.config('SET', 'tls-cert-file', server.cert, 'tls-key-file', server.key);
  await redis.config('SET', 'tls-ca-cert-file', authority.cert, 'tls-auth-clients', 'yes');
  await redis.config('SET', 'tls-port', port);
  return port;
}
/** Returns what a reverse proxy does before the control plane. */
async function terminateTls(): Promise<Server> {
  const identity = { cert: readFileSync(server.cert), key: readFileSync(server.key) };
  const created = createServer(identity, (incoming, outgoing) => {
    const { url = '', method, headers } = incoming;
    const passed = request(`${tollgate.adminUrl}${url}`, { method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    passed.on('error', () => outgoing.destroy());
    incoming.pipe(passed);
  });
  await new Promise<void>((resolve) => void created.listen(0, '127.0.0.1', resolve));
  return created;
}

const isServing = async (): Promise<boolean> =>
  (await fetch(`${tollgate.nodeUrls[0]}/readyz`).catch(() => undefined))?.status === 200;
const databaseUrl = ({ host = 'localhost', query = 'sslmode=verify-full' } = {}): string => {
  const url = new URL(tollgate.databaseUrl);
  url.hostname = host;
  return `${url.href}?${query}`;
};
const redisUrl = (plain: string, host = 'localhost', hasCertificate = true): string => {
  const url = new URL(plain.replace(/^redis:/, 'rediss:'));
  url.port = String(redisPort);
  url.hostname = host;
  return hasCertificate ? `${url.href}?sslcert=${client.cert}&sslkey=${client.key}` : url.href;
};
const trusting = () => ({ NODE_EXTRA_CA_CERTS: authority.cert });

test('a server whose certificate is of another authority, or of another name, is refused', async () => {
  const verify = (url: string, env: Record<string, string> = trusting()) =>
    runOps({ DATABASE_URL: url, ...env }, 'verify');
  expect((await verify(databaseUrl())).status).toBe(0);
  expect(await verify(databaseUrl(), {})).toMatchObject({
    status: 2,
    err: expect.stringMatching(/certificate/),
  });
  expect(await verify(databaseUrl({ host: '127.0.0.1' }))).toMatchObject({
    status: 2,
    err: expect.stringMatching(/certificate|altnames/),
  });
  const epochs = (url: string, env: Record<string, string> = trusting()) =>
    runOps({ DATABASE_URL: tollgate.databaseUrl, REDIS_URL: url, ...env }, 'epochs');
  expect((await epochs(redisUrl(tollgate.redisUrl))).status).toBe(0);
  expect((await epochs(redisUrl(tollgate.redisUrl), {})).status).toBe(2);
  expect((await epochs(redisUrl(tollgate.redisUrl, '127.0.0.1'))).status).toBe(2);
}, 120_000);

test('Redis asks for a client certificate', async () => {
  const epochs = (url: string) =>
    runOps({ DATABASE_URL: tollgate.databaseUrl, REDIS_URL: url, ...trusting() }, 'epochs');
  expect((await epochs(redisUrl(tollgate.redisUrl, 'localhost', false))).status).toBe(2);
  expect((await epochs(redisUrl(tollgate.redisUrl))).status).toBe(0);
}, 60_000);

test('PostgreSQL asks for a client certificate of the role', async () => {
  const url = new URL(databaseUrl());
  Object.assign(url, { username: 'tollgate_tls', password: '' });
  expect((await runOps({ DATABASE_URL: url.href, ...trusting() }, 'verify')).status).toBe(2);
  url.searchParams.set('sslcert', client.cert);
  url.searchParams.set('sslkey', client.key);
  expect((await runOps({ DATABASE_URL: url.href, ...trusting() }, 'verify')).status).toBe(0);
}, 60_000);

test('an installation works with TLS everywhere, and a plain Redis is switched off', async () => {
  const { controlPlane, node, queue } = tollgate.services.redisUrls;
  const shared = { REDIS_QUEUE_URL: redisUrl(queue), ...trusting() };
  const query = `sslmode=verify-full&sslcert=${client.cert}&sslkey=${client.key}`;
  const url = new URL(databaseUrl({ query }));
  Object.assign(url, { username: 'tollgate_tls', password: '' });
  await tollgate.restart('control-plane', {
    env: { ...shared, DATABASE_URL: url.href, REDIS_URL: redisUrl(controlPlane) },
  });
  await tollgate.restart('node-1', {
    env: {
      ...shared,
      REDIS_URL: redisUrl(node),
      CONTROL_PLANE_URL: `https://localhost:${(door.address() as AddressInfo).port}`,
    },
  });
  const { rows } = await database.query(
    "SELECT DISTINCT s.ssl, usename FROM pg_stat_activity a JOIN pg_stat_ssl s USING (pid) WHERE application_name = 'tollgate-control-plane'",
  );
  expect(rows).toEqual([{ ssl: true, usename: 'tollgate_tls' }]);
  const plainPort = tollgate.services.ports.get('redis') ?? 0;
  await redis.config('SET', 'port', 0);
  const load = new SteadyLoad(tollgate.nodeUrls, await setScene(tollgate), { clients: 2 });
  await until('requests over TLS', () => load.count('completed') >= 60, 60_000);
  expect(await isServing()).toBe(true);
  const records = await load.stop();
  await redis.config('SET', 'port', plainPort);
  // The node asks the control plane for data that Redis has lost over its own connection.
  await redis.flushall();
  await until('a filled Redis', isServing, 60_000);
  await closeBooks(tollgate, records, { wereKilled: false });
}, 180_000);
