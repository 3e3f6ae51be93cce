import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readChangedLogins } from './stored-passwords.ts';

let server: Server;
let adminUrl: string;
let calls: string[];
/** Holds what a sign-in answers, by username. */
let answers: Record<string, { status: number; body: unknown }>;

beforeEach(async () => {
  calls = [];
  server = createServer((request, response) => {
    calls.push(`${request.url} ${request.headers.authorization ?? ''}`.trim());
    let text = '';
    request.on('data', (part) => (text += String(part)));
    request.on('end', () => {
      const { username } = JSON.parse(text || '{}');
      const { status, body } = answers[username] ?? { status: 204, body: undefined };
      response.writeHead(status).end(body && JSON.stringify(body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  adminUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(() => {
  server.close();
});

const accounts = {
  admin: { username: 'admin', password: 'first' },
  user: { username: 'demo', password: 'second' },
};

test('a login that is refused is a changed password; one that works is signed out again', async () => {
  answers = {
    admin: { status: 401, body: { code: 'invalid_credentials' } },
    demo: { status: 200, body: { token: 'of-demo' } },
  };
  expect(await readChangedLogins({ adminUrl, ...accounts })).toEqual(new Set(['admin']));
  expect(calls).toContain('/admin-api/auth/logout Bearer of-demo');
});

test('a login that cannot be judged is no changed password', async () => {
  answers = {
    admin: { status: 429, body: { code: 'too_many_attempts' } },
    demo: { status: 403, body: { code: 'account_frozen' } },
  };
  expect(await readChangedLogins({ adminUrl, ...accounts })).toEqual(new Set());
});
