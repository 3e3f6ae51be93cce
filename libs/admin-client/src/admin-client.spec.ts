import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { AdminRefusal, answerOf, createAdminClient } from './admin-client.ts';

const PROBLEM = { code: 'password_needed', title: 'Password', detail: 'Again', errors: [] };
let server: Server;
let isConfirmed = false;
const bodies: string[] = [];
beforeAll(async () => {
  server = createServer((request, response) => {
    let text = '';
    request.on('data', (piece) => (text += String(piece)));
    request.on('end', () => {
      bodies.push(text);
      response
        .writeHead(isConfirmed ? 201 : 403, { 'content-type': 'application/json' })
        .end(JSON.stringify(isConfirmed ? { id: 7 } : PROBLEM));
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
});
afterAll(() => void server?.close());
beforeEach(() => {
  isConfirmed = false;
  bodies.length = 0;
});

const body = { username: 'ada', role: 'admin' as const };
function create(confirmPassword: () => Promise<boolean>) {
  const { port } = server.address() as AddressInfo;
  const client = createAdminClient({ baseUrl: `http://127.0.0.1:${port}`, confirmPassword });
  return answerOf(client.POST('/admin-api/users', { body }));
}

test('a call that needs the password is repeated with its body once the password was given', async () => {
  const answer = await create(async () => (isConfirmed = true));
  expect(answer.id).toBe(7);
  expect(bodies.map((text) => JSON.parse(text))).toEqual([body, body]);
});

test('a call whose password was not given keeps its refusal', async () => {
  const refused = await create(async () => false).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(AdminRefusal);
  expect(refused).toMatchObject({ status: 403, code: 'password_needed' });
  expect(bodies).toHaveLength(1);
});
