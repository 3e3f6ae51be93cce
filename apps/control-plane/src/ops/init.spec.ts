import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from '@jest/globals';
import { initCommand } from './init.ts';
import type { Call } from './command.ts';

const root = path.join(import.meta.dirname, '../../../..');
const SERVERS = {
  DATABASE_ADMIN_URL: 'postgresql://postgres:x@db.example:5432/tollgate?sslmode=verify-full',
  REDIS_URL: 'rediss-cluster://a.example:6379,b.example:6379',
};

async function printed(args: readonly string[], environment: object = {}): Promise<string> {
  const before = { ...process.env };
  const write = process.stdout.write.bind(process.stdout);
  let text = '';
  process.stdout.write = (chunk: string | Uint8Array) => {
    text += String(chunk);
    return true;
  };
  try {
    Object.assign(process.env, environment);
    const call: Call = { args, isDryRun: false, isConfirmed: false };
    expect(await initCommand.run(call)).toBe(0);
    return text;
  } finally {
    process.stdout.write = write;
    process.env = before;
  }
}

test('draws each secret that the compose file requires, and each of its own', async () => {
  const lines = (await printed(['compose'])).split('\n').filter((line) => /^\w+=/.test(line));
  const values = Object.fromEntries(
    lines.map((line) => [line.split('=')[0] ?? '', line.slice(line.indexOf('=') + 1)]),
  );
  const compose = readFileSync(path.join(root, 'docker-compose.yml'), 'utf8');
  const required = [...compose.matchAll(/\$\{(\w+):\?\}/g)].map(([, name = '']) => name);
  expect(Object.keys(values).toSorted()).toEqual([...new Set(required)].toSorted());
  expect(new Set(Object.values(values)).size).toBe(lines.length);
});

test('draws the Secrets of the chart: each role and Redis user in its address, each node with the credential that the control plane expects', async () => {
  const { items } = JSON.parse(await printed(['kubernetes', 'a-node-0', 'a-node-1'], SERVERS));
  const [plane, nodes, credentials, users] = items.map(
    ({ stringData }: { stringData: Record<string, string> }) => stringData,
  );
  expect(plane.DATABASE_URL).toMatch(
    /^postgresql:\/\/tollgate_runtime:[\w-]{43}@db\.example:5432\/tollgate\?sslmode=verify-full$/,
  );
  expect(plane.NODE_CREDENTIALS).toBe(
    `a-node-0=${credentials['a-node-0']},a-node-1=${credentials['a-node-1']}`,
  );
  expect(nodes.REDIS_URL).toMatch(
    /^rediss-cluster:\/\/node:[\w-]{43}@a\.example:6379,b\.example:6379$/,
  );
  for (const name of ['DATABASE_URL', 'JWT_SECRET', 'FLEET_CREDENTIAL', 'NODE_CREDENTIALS'])
    expect(nodes).not.toHaveProperty(name);
  const password = /:\/\/node:([^@]+)@/.exec(nodes.REDIS_URL)?.[1];
  expect(users['users.acl']).toContain(`user node on >${password} `);
  expect(users['users.acl']).not.toContain('${');
});

test('a Redis with one login is used with it by all', async () => {
  const one = { ...SERVERS, REDIS_URL: 'rediss://default:secret@redis.example:6379' };
  const { items } = JSON.parse(await printed(['kubernetes'], one));
  expect(items).toHaveLength(3);
  expect(items[1].stringData.REDIS_URL).toBe(one.REDIS_URL);
});

test('what it does not know is refused with what it takes', async () => {
  await expect(printed(['swarm'])).rejects.toThrow('kubernetes or compose');
  await expect(printed(['compose', 'a b'])).rejects.toThrow('no name of a node');
  await expect(printed(['kubernetes'], { REDIS_URL: 'x' })).rejects.toThrow(
    'DATABASE_ADMIN_URL=postgresql://',
  );
});
