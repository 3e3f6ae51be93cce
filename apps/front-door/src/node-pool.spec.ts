import { afterEach, expect, test } from '@jest/globals';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { letPass, until } from '@tollgate/harness';
import { NodePool } from './node-pool.ts';

type Answer = 200 | 503 | 'none';
const CHECK_MS = 50;
/** Is longer than a look waits. */
const LOOK_MS = 3_500;
const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

async function poolOf(...answers: Answer[]) {
  const servers = await Promise.all(answers.map(listen));
  const pool = new NodePool({
    urls: servers.map(({ url }) => url),
    checkIntervalMs: CHECK_MS,
    log: () => undefined,
  });
  closing.push(() => pool.stop());
  await pool.start();
  return { pool, servers };
}

async function listen(first: Answer): Promise<{ url: string; says: (answer: Answer) => void }> {
  let answer = first;
  const server: Server = createServer((_, response) => {
    if (answer !== 'none') response.writeHead(answer).end();
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, says: (next) => (answer = next) };
}

test('a node that leaves one look unanswered stays in use; one that says it takes no requests is left at once', async () => {
  const { pool, servers } = await poolOf(200, 200);
  servers[0]?.says('none');
  servers[1]?.says(503);
  await until('the second is away', () => pool.nodes[1]?.standing === 'away');
  await letPass(LOOK_MS, 'a look times out, and no event marks that nothing followed from it');
  expect(pool.nodes[0]).toMatchObject({ standing: 'ready', strikes: 1 });
  expect(pool.pick()).toBe(pool.nodes[0]);
}, 15_000);

test('when most nodes are silent they are used still, and never one that is away', async () => {
  const { pool } = await poolOf('none', 'none', 503);
  expect(pool.nodes.map(({ standing }) => standing)).toEqual(['silent', 'silent', 'away']);
  expect(pool.isAnyUsable).toBe(true);
  const picked = new Set(Array.from({ length: 10 }, () => pool.pick()));
  expect(picked).toEqual(new Set([pool.nodes[0], pool.nodes[1]]));
}, 15_000);

test('when most nodes are ready, a silent one is avoided', async () => {
  const { pool } = await poolOf(200, 'none', 200);
  expect(pool.nodes[1]?.standing).toBe('silent');
  const picked = new Set(Array.from({ length: 10 }, () => pool.pick()));
  expect(picked).toEqual(new Set([pool.nodes[0], pool.nodes[2]]));
}, 15_000);
