import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { parseOutboundPolicy } from '@tollgate/contracts';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Client } from 'undici';
import { guardedConnector } from './guarded-connector.ts';

const ALLOWED = '127.0.0.1';
const PRIVATE = '127.0.0.2';
const policy = parseOutboundPolicy(`${ALLOWED}/32`);
let server: Server;
let port: number;

beforeAll(async () => {
  server = createServer(
    (_request, response) => void response.setHeader('connection', 'close').end('ok'),
  );
  await new Promise<void>((resolve) => server.listen(0, ALLOWED, resolve));
  port = (server.address() as AddressInfo).port;
});
afterAll(() => new Promise((resolve) => server.close(resolve)));

/** Asks `rebinding.test`, whose resolver gives each list of answers once, in turn. */
async function ask(answers: string[][]): Promise<string[]> {
  const left = [...answers];
  const connect = guardedConnector({
    policy,
    connectTimeoutMs: 1_000,
    resolve: () => Promise.resolve((left.shift() ?? []).map((address) => ({ address, family: 4 }))),
  });
  const results: string[] = [];
  for (let turn = 0; turn < answers.length; turn += 1) {
    const client = new Client(`http://rebinding.test:${port}`, { connect });
    results.push(
      await client.request({ method: 'GET', path: '/' }).then(
        ({ body }) => body.text(),
        (error: Error & { code?: string }) => error.code ?? error.message,
      ),
    );
    await client.destroy();
  }
  return results;
}

test('S3: a name that leads to a private address the second time is refused the second time', async () => {
  expect(await ask([[ALLOWED], [PRIVATE]])).toEqual(['ok', 'ADDRESS_REFUSED']);
});

test('S3: of several answers only an allowed one is dialled, wherever it stands', async () => {
  expect(
    await ask([
      [PRIVATE, ALLOWED],
      [ALLOWED, PRIVATE],
    ]),
  ).toEqual(['ok', 'ok']);
});
