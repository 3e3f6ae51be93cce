import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { closeDemo, playFirstMinute, prepareFirstMinute, seedDemo } from '@tollgate/tools';
import pg from 'pg';
import { startTollgate, type Tollgate } from './tollgate.ts';
import { until } from '@tollgate/tools';

let tollgate: Tollgate;
let database: pg.Client;
beforeAll(async () => {
  tollgate = await startTollgate({ nodes: 1 });
  database = new pg.Client({ connectionString: tollgate.databaseUrl });
  await database.connect();
}, 120_000);
afterAll(async () => {
  await database?.end();
  await tollgate?.stop();
});

interface Booked {
  username: string;
  model: string;
  protocol: string;
  outcome: string;
}

async function booked(): Promise<Booked[]> {
  const { rows } = await database.query<Booked>(
    `SELECT u.username, m.name AS model, e.protocol, e.outcome FROM usage_events e JOIN users u ON u.id = e.user_id JOIN models m ON m.id = e.model_id
     WHERE e.kind = 'usage'`,
  );
  return rows;
}

async function usernames(where: string): Promise<string[]> {
  const { rows } = await database.query<{ username: string }>(
    `SELECT username FROM users WHERE ${where} ORDER BY username`,
  );
  return rows.map((row) => row.username);
}

test('the first minute shows users, models, protocols, failures and a low balance; one command closes its accounts', async () => {
  const { admin, upstreamUrl } = tollgate;
  const password = 'a long enough secret';
  await seedDemo(admin, { user: { username: 'demo', password }, upstreamUrl });
  const demo = { admin, baseUrl: tollgate.nodeUrls[0] ?? '', upstreamUrl, password };
  const callers = await prepareFirstMinute(demo);
  expect(await playFirstMinute(demo, callers, () => false, 20)).toBe(300);

  let seen: Booked[] = [];
  await until('200 requests are booked', async () => (seen = await booked()).length >= 200);
  const among = (name: keyof Booked) => [...new Set(seen.map((row) => row[name]))].toSorted();
  expect(among('username')).toEqual(['demo-mara', 'demo-otto', 'demo-priya', 'demo-sven']);
  expect(among('model')).toEqual(['demo-chat', 'demo-embedding', 'demo-reasoning']);
  expect(among('protocol')).toEqual(['chat', 'embeddings', 'messages']);
  expect(among('outcome').length).toBeGreaterThan(1);
  const { rows: low } = await database.query(
    "SELECT 1 FROM subscriptions s JOIN users u ON u.id = s.user_id WHERE u.username = 'demo-priya' AND s.balance < 1000",
  );
  expect(low).toHaveLength(1);
  expect(await usernames("status = 'pending'")).toEqual(['demo-newcomer']);

  const made = await usernames('is_demo');
  expect(made).toHaveLength(6);
  expect((await closeDemo(admin)).toSorted()).toEqual(made.toSorted());
  expect(await usernames("is_demo AND status <> 'deleted'")).toEqual([]);
  expect((await booked()).length).toBeGreaterThanOrEqual(seen.length);
}, 240_000);
