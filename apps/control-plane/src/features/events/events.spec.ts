import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { AddressInfo } from 'node:net';
import { loadConfig } from '../../config.ts';
import { createApp } from '../../create-app.ts';
import { createPino } from '../../platform/logging/logger.ts';
import { uuidv7 } from '../../platform/http/visitor.ts';
import {
  ledgerOf,
  usageEvent,
  type EventParts,
  subscribedAccount,
} from '../../testing/ledger-under-test.ts';
import { startControlPlane, type ControlPlane } from '../../testing/control-plane-under-test.ts';
import { readEvents, type EventReader } from '../../testing/event-stream-under-test.ts';
import { eventually } from '../../testing/eventually.ts';
import { SpeakingNode } from '../../testing/speaking-node.ts';
import { AlertsService } from '../alerts/alerts.service.ts';
import { UsageWorker } from '../usage/ingest/usage-worker.ts';
import { EventStore } from './event-store.ts';

let plane: ControlPlane;
let replica: NestExpressApplication;
let ledger: ReturnType<typeof ledgerOf>;
const readers: EventReader[] = [];
const nodes: SpeakingNode[] = [];
beforeAll(async () => {
  plane = await startControlPlane();
  ledger = ledgerOf(plane);
  await ledger.initialiseShards();
  replica = await createApp(loadConfig(plane.environment), createPino('silent'));
  await replica.listen(0, '127.0.0.1');
}, 120_000);
afterEach(() => {
  for (const reader of readers.splice(0)) reader.close();
  for (const node of nodes.splice(0)) node.stop();
});
afterAll(async () => {
  await replica?.close();
  await plane?.stop();
});

async function read(
  token: string,
  options: { query?: string; lastId?: string; at?: string } = {},
): Promise<EventReader> {
  const { at = plane.url, ...rest } = options;
  const reader = await readEvents({ url: at, documented: plane.documented }, { token, ...rest });
  readers.push(reader);
  return reader;
}
const otherReplica = () =>
  `http://127.0.0.1:${(replica.getHttpServer().address() as AddressInfo).port}`;

const subscribed = (): Promise<EventParts> => subscribedAccount(plane, 100_000);
const book = (parts: EventParts, tokens = 10, rid = uuidv7(Date.now())) =>
  plane.app
    .get(UsageWorker)
    .process([usageEvent(tokens, { ...parts, rid })])
    .then(() => rid);
const isFor = (rid: string) => (event: { event: string; data: { newest?: { rid: string }[] } }) =>
  event.event === 'requests' && event.data.newest?.some((one) => one.rid === rid) === true;
const raise = (subject: string) =>
  plane.app.get(AlertsService, { strict: false }).raise(plane.dataSource.manager, {
    rule: 'low_balance',
    subject,
    message: `of ${subject}`,
  });

describe('the events of a stream', () => {
  test('a booked request, the balance it leaves and the wallet, as they commit', async () => {
    const parts = await subscribed();
    const reader = await read(parts.account.token);
    await reader.next(({ event }) => event === 'ready');
    const rid = await book(parts, 25);
    const requests = await reader.next(isFor(rid));
    expect(requests.data).toMatchObject({
      user_id: parts.account.id,
      count: 1,
      newest: [{ rid, charge: 25, model: parts.model.name }],
    });
    const balance = await reader.next(({ event }) => event === 'balance');
    expect(balance.data).toEqual({
      user_id: parts.account.id,
      subscription_id: parts.subscriptionId,
      model_id: parts.model.id,
      status: 'active',
      tokens: 99_975,
    });
    await ledger.asAdmin('POST', '/wallet/admin-recharge', {
      user_id: parts.account.id,
      amount: '0.5',
    });
    expect((await reader.next(({ event }) => event === 'wallet')).data).toMatchObject({
      user_id: parts.account.id,
      currency: 'USD',
    });
  });

  test('of a batch: how many, and the newest twenty', async () => {
    const parts = await subscribed();
    const reader = await read(parts.account.token);
    await plane.app
      .get(UsageWorker)
      .process(Array.from({ length: 30 }, () => usageEvent(1, parts)));
    const { data } = await reader.next(({ event }) => event === 'requests');
    expect([data.count, data.newest.length]).toEqual([30, 20]);
  });

  test('a user sees what is theirs alone; an administrator all, or one account', async () => {
    const [mine, theirs] = [await subscribed(), await subscribed()];
    const [user, admin, narrowed] = [
      await read(mine.account.token),
      await read(plane.adminToken),
      await read(plane.adminToken, { query: `?user_id=${theirs.account.id}` }),
    ];
    await raise('installation');
    await raise(`subscription:${theirs.subscriptionId}`);
    await raise(`subscription:${mine.subscriptionId}`);
    const theirRid = await book(theirs);
    const myRid = await book(mine);
    await Promise.all([
      user.next(isFor(myRid)),
      admin.next(isFor(myRid)),
      admin.next(isFor(theirRid)),
      narrowed.next(isFor(theirRid)),
    ]);
    const subjectsOf = (reader: EventReader) =>
      reader.events.filter(({ event }) => event === 'alert').map(({ data }) => data.subject);
    expect(subjectsOf(user)).toEqual([`subscription:${mine.subscriptionId}`]);
    expect(subjectsOf(admin)).toEqual(expect.arrayContaining(['installation']));
    expect(subjectsOf(narrowed)).toEqual([`subscription:${theirs.subscriptionId}`]);
    expect(user.events.some(isFor(theirRid))).toBe(false);
    expect(JSON.stringify(user.events)).not.toContain(`"user_id":${theirs.account.id},`);
    expect(narrowed.events.some(isFor(myRid))).toBe(false);
    expect(
      (await read(mine.account.token, { query: `?user_id=${theirs.account.id}` })).status,
    ).toBe(404);
  });

  test('an alert once when it is raised and once when it is resolved', async () => {
    const reader = await read(plane.adminToken);
    await reader.next(({ event }) => event === 'ready');
    await raise('once');
    await raise('once');
    // A stream reports the state that it finds: an alert that ends before that is one event.
    await reader.next(({ data }) => data.subject === 'once' && data.status === 'open');
    await plane.app
      .get(AlertsService, { strict: false })
      .resolve(plane.dataSource.manager, { rule: 'low_balance', subject: 'once' });
    await reader.next(({ data }) => data.subject === 'once' && data.status === 'resolved');
    expect(reader.events.filter(({ data }) => data.subject === 'once')).toHaveLength(2);
  });

  test("each node's acknowledgement of a new version, and a node that fell silent", async () => {
    const reader = await read(plane.adminToken);
    const { credential } = (await ledger.asAdmin('POST', '/proxy-nodes', { name: 'streamed' }))
      .body;
    const node = await new SpeakingNode({
      redisUrl: plane.services.redisUrl,
      name: 'streamed',
      credential,
    }).start();
    nodes.push(node);
    const { version } = (await ledger.asAdmin('POST', '/proxy-nodes/sync-all')).body;
    const acknowledged = await reader.next(
      ({ event, data }) =>
        event === 'node' &&
        data.name === 'streamed' &&
        data.workers.some((worker: { version: number }) => worker.version === version),
    );
    expect(acknowledged.data.workers[0].applied_at).not.toBeNull();
    node.stop();
    await eventually(async () => {
      expect(reader.events.findLast(({ data }) => data.name === 'streamed')?.data.state).toBe(
        'offline',
      );
    }, 20_000);
  }, 40_000);
});

describe('resuming', () => {
  test('at another replica continues after the last id: nothing twice, nothing lost', async () => {
    const parts = await subscribed();
    const first = await read(parts.account.token);
    const seen = await book(parts);
    const last = await first.next(isFor(seen));
    first.close();
    const missed = await book(parts);
    const second = await read(parts.account.token, { at: otherReplica(), lastId: last.id });
    await second.next(isFor(missed));
    const later = await book(parts);
    await second.next(isFor(later));
    expect(second.events.some(isFor(seen))).toBe(false);
    const ids = second.events.filter(({ event }) => event === 'requests').map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids).toHaveLength(2);
  });

  test('loses no event whose transaction began first and committed last', async () => {
    const parts = await subscribed();
    const reader = await read(plane.adminToken);
    await reader.next(({ event }) => event === 'ready');
    const slow = plane.dataSource.createQueryRunner();
    await slow.startTransaction();
    await slow.query(
      'INSERT INTO stream_events (user_id, kind, data) VALUES ($1, \'wallet\', \'{"micros":"4711"}\')',
      [parts.account.id],
    );
    const rid = await book(parts);
    await new Promise((resolve) => setTimeout(resolve, 600));
    expect(reader.events.some(isFor(rid))).toBe(false);
    await slow.commitTransaction();
    await slow.release();
    await reader.next(({ data }) => data.balance === '0.004711');
    await reader.next(isFor(rid));
  });

  test('many at once: every reader gets every event, in order', async () => {
    const parts = await subscribed();
    const early = await read(parts.account.token);
    const { id } = await early.next(({ event }) => event === 'ready');
    const rids: string[] = [];
    const all: EventReader[] = [early];
    for (let round = 0; round < 10; round += 1) {
      rids.push(await book(parts, 1));
      all.push(
        await read(parts.account.token, {
          lastId: id,
          ...(round % 2 === 0 ? { at: otherReplica() } : {}),
        }),
      );
    }
    rids.push(await book(parts, 1));
    for (const reader of all) {
      await reader.next(isFor(rids.at(-1) ?? ''));
      expect(
        reader.events
          .filter(({ event }) => event === 'requests')
          .map(({ data }) => data.newest[0].rid),
      ).toEqual(rids);
    }
  });

  test.each([['17.3'], ['99999999999999.1'], ['x'], ['-1.1']])(
    'from %s, which is no longer held or never was, says `reset` and goes on from now',
    async (lastId) => {
      await ledger.query(
        'UPDATE stream_horizon SET xid = (pg_current_xact_id()::text::bigint - 1)::text::xid8',
      );
      const parts = await subscribed();
      const reader = await read(parts.account.token, { lastId });
      await reader.next(({ event }) => event === 'reset');
      await reader.next(isFor(await book(parts)));
    },
  );

  test('is possible for a quarter of an hour; what is older is deleted and remembered as gone', async () => {
    const parts = await subscribed();
    const reader = await read(parts.account.token);
    const { id } = await reader.next(({ event }) => event === 'ready');
    await book(parts);
    await ledger.query("UPDATE stream_events SET created_at = now() - interval '16 minutes'");
    await plane.app.get(EventStore, { strict: false }).forgetOld();
    expect(await ledger.query('SELECT 1 FROM stream_events')).toEqual([]);
    const late = await read(parts.account.token, { lastId: id });
    await late.next(({ event }) => event === 'reset');
  });
});

describe('the end of a stream', () => {
  const freeze = (account: { id: number }) => ledger.asAdmin('POST', `/users/${account.id}/freeze`);
  test.each([
    ['a freeze', freeze],
    [
      'a deletion',
      ({ id }: { id: number }) => ledger.asAdmin('DELETE', `/users/${id}?forfeit=true`),
    ],
    ['a logout', ({ token }: { token: string }) => plane.call('POST', '/auth/logout', { token })],
  ])('comes within a second of %s', async (_, revoke) => {
    const { account } = await subscribed();
    const reader = await read(account.token);
    await reader.next(({ event }) => event === 'ready');
    await revoke(account);
    const revokedAt = Date.now();
    await eventually(async () => expect(reader.isOver()).toBe(true));
    expect(Date.now() - revokedAt).toBeLessThan(1_000);
    expect(reader.events.at(-1)?.event).toBe('end');
  });

  test('comes with the revocation of its access token, and with a demotion', async () => {
    const admin = await plane.createUser('soon-demoted');
    await ledger.asAdmin('PUT', `/users/${admin.id}`, { role: 'admin' });
    const { id, token } = (
      await plane.call('POST', '/auth/tokens', {
        token: admin.token,
        body: { name: 'watch', scope: 'read' },
      })
    ).body;
    const [byToken, bySession] = [await read(token), await read(admin.token)];
    await plane.call('DELETE', `/auth/tokens/${id}`, { token: admin.token });
    await eventually(async () => expect(byToken.isOver()).toBe(true), 1_000);
    expect(bySession.isOver()).toBe(false);
    await ledger.asAdmin('PUT', `/users/${admin.id}`, { role: 'user' });
    await eventually(async () => expect(bySession.isOver()).toBe(true), 1_000);
  });

  test('of a replica that shuts down does not wait for its readers', async () => {
    const third = await createApp(loadConfig(plane.environment), createPino('silent'));
    await third.listen(0, '127.0.0.1');
    const { port } = third.getHttpServer().address() as AddressInfo;
    const reader = await read(plane.adminToken, { at: `http://127.0.0.1:${port}` });
    await reader.next(({ event }) => event === 'ready');
    const closed = third.close();
    await eventually(async () => expect(reader.isOver()).toBe(true), 2_000);
    await closed;
  }, 30_000);
});

test('an account has at most twenty streams', async () => {
  const { account } = await subscribed();
  const all = await Promise.all(Array.from({ length: 20 }, () => read(account.token)));
  expect(all.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200));
  expect((await read(account.token)).status).toBe(429);
});
