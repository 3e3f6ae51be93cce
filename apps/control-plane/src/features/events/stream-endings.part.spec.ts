import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { afterEach, beforeAll, expect, jest, test } from '@jest/globals';
import type { AddressInfo } from 'node:net';
import { eventually, letPass } from '@tollgate/harness';
import { loadConfig } from '../../config.ts';
import { createApp } from '../../create-app.ts';
import { createPino } from '../../platform/logging/logger.ts';
import {
  closeReaders,
  eventsUnderTest,
  isReady,
  type EventsUnderTest,
} from '../../testing/events-under-test.ts';
import { PASSWORD } from '../../testing/control-plane-under-test.ts';
import { ledgerOf } from '../../testing/ledger-under-test.ts';
import { EventStreams } from './event-streams.ts';

let events: EventsUnderTest;
let ledger: ReturnType<typeof ledgerOf>;
beforeAll(async () => {
  events = await eventsUnderTest();
  ledger = ledgerOf(events.plane);
  await ledger.initialiseShards();
}, 60_000);
closeReaders();
afterEach(() => void jest.restoreAllMocks());

const freeze = (account: { id: number }) => ledger.asAdmin('POST', `/users/${account.id}/freeze`);
test.each([
  ['a freeze', freeze],
  ['a deletion', ({ id }: { id: number }) => ledger.asAdmin('DELETE', `/users/${id}?forfeit=true`)],
  [
    'a logout',
    ({ token }: { token: string }) => events.plane.call('POST', '/auth/logout', { token }),
  ],
])('a stream ends within a second of %s', async (_, revoke) => {
  const { account } = await events.subscribed();
  const reader = await events.read(account.token);
  await reader.next(isReady);
  await revoke(account);
  const revokedAt = Date.now();
  await eventually(async () => expect(reader.isOver()).toBe(true));
  expect(Date.now() - revokedAt).toBeLessThan(1_000);
  expect(reader.events.at(-1)?.event).toBe('end');
});

test('a stream ends with the revocation of its access token, and with a demotion', async () => {
  const admin = await events.plane.createUser('soon-demoted');
  await ledger.asAdmin('PUT', `/users/${admin.id}`, { role: 'admin' });
  admin.token = await events.plane.login('soon-demoted', PASSWORD);
  const { id, token } = (
    await events.plane.call('POST', '/auth/tokens', {
      token: admin.token,
      body: { name: 'watch', scope: 'read' },
    })
  ).body;
  const [byToken, bySession] = [await events.read(token), await events.read(admin.token)];
  await events.plane.call('DELETE', `/auth/tokens/${id}`, { token: admin.token });
  await eventually(async () => expect(byToken.isOver()).toBe(true), 1_000);
  expect(bySession.isOver()).toBe(false);
  await ledger.asAdmin('PUT', `/users/${admin.id}`, { role: 'user' });
  await eventually(async () => expect(bySession.isOver()).toBe(true), 1_000);
});

test('a replica that shuts down ends its streams', async () => {
  const third = await createApp(loadConfig(events.plane.environment), createPino('silent'));
  await third.listen(0, '127.0.0.1');
  const { port } = third.getHttpServer().address() as AddressInfo;
  const reader = await events.read(events.plane.adminToken, { at: `http://127.0.0.1:${port}` });
  await reader.next(isReady);
  const closed = third.close();
  await eventually(async () => expect(reader.isOver()).toBe(true), 2_000);
  await closed;
}, 30_000);

test('a stream that opens while its replica shuts down ends at once, so that its reader goes on at another', async () => {
  const third = await createApp(loadConfig(events.plane.environment), createPino('silent'));
  await third.listen(0, '127.0.0.1');
  const { port } = third.getHttpServer().address() as AddressInfo;
  await third.get(EventStreams, { strict: false }).beforeApplicationShutdown();
  const reader = await events.read(events.plane.adminToken, { at: `http://127.0.0.1:${port}` });
  await eventually(async () => expect(reader.isOver()).toBe(true));
  expect(reader.events.map(({ event }) => event)).toEqual(['ready']);
  await third.close();
}, 30_000);

test('a revoked stream whose reader does not read gets its end once, and nothing after it', async () => {
  const { plane } = events;
  const { account } = await events.subscribed();
  const opened = once(plane.app.getHttpServer(), 'request');
  const reader = await events.read(account.token);
  const [, response] = (await opened) as [unknown, ServerResponse];
  await reader.next(isReady);
  const errors: unknown[] = [];
  response.on('error', (error) => errors.push(error));
  // Keeps what is written, as the window of a reader that does not read.
  response.socket?.cork();
  await ledger.asAdmin('POST', `/users/${account.id}/freeze`);
  await eventually(async () => expect(response.writableEnded).toBe(true));
  await letPass(1_000, 'two more looks at the streams');
  expect(errors).toEqual([]);
  response.socket?.uncork();
  await eventually(async () => expect(reader.isOver()).toBe(true));
  // Events of the purchase may have been on their way before the end.
  const names = reader.events.map(({ event }) => event);
  expect(names.indexOf('end')).toBe(names.length - 1);
});

test('an account has at most twenty streams, also when it opens them at once', async () => {
  const { account } = await events.subscribed();
  const all = await Promise.all(Array.from({ length: 25 }, () => events.read(account.token)));
  const count = (wanted: number) => all.filter(({ status }) => status === wanted).length;
  expect([count(200), count(429)]).toEqual([20, 5]);
  expect((await events.read(account.token)).status).toBe(429);
});
