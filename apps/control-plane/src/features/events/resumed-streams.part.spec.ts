import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { AddressInfo } from 'node:net';
import { eventually } from '@tollgate/harness';
import { loadConfig } from '../../config.ts';
import { createApp } from '../../create-app.ts';
import { createPino } from '../../platform/logging/logger.ts';
import {
  closeReaders,
  eventsUnderTest,
  isFor,
  isReady,
  type EventsUnderTest,
} from '../../testing/events-under-test.ts';
import type { EventReader } from '../../testing/event-stream-under-test.ts';
import { ledgerOf } from '../../testing/ledger-under-test.ts';
import { EventStore } from './event-store.sql.ts';

let events: EventsUnderTest;
let ledger: ReturnType<typeof ledgerOf>;
let replica: NestExpressApplication;
beforeAll(async () => {
  events = await eventsUnderTest();
  ledger = ledgerOf(events.plane);
  await ledger.initialiseShards();
  replica = await createApp(loadConfig(events.plane.environment), createPino('silent'));
  await replica.listen(0, '127.0.0.1');
}, 60_000);
closeReaders();
afterAll(() => replica?.close());

/** Resolves when the feed has read `times` more times. */
async function looks(app: NestExpressApplication, times: number): Promise<void> {
  const reading = jest.spyOn(app.get(EventStore, { strict: false }), 'after');
  await eventually(async () => expect(reading.mock.results.length).toBeGreaterThan(times));
  reading.mockRestore();
}

const otherReplica = () =>
  `http://127.0.0.1:${(replica.getHttpServer().address() as AddressInfo).port}`;

test('a stream that resumes at another replica continues after the last id: nothing comes twice, nothing is lost', async () => {
  const parts = await events.subscribed();
  const first = await events.read(parts.account.token);
  const seen = await events.book(parts);
  const last = await first.next(isFor(seen));
  first.close();
  const missed = await events.book(parts);
  const second = await events.read(parts.account.token, { at: otherReplica(), lastId: last.id });
  await second.next(isFor(missed));
  const later = await events.book(parts);
  await second.next(isFor(later));
  expect(second.events.some(isFor(seen))).toBe(false);
  const ids = second.events.filter(({ event }) => event === 'requests').map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids).toHaveLength(2);
});

test('a stream loses no event whose transaction begins first and commits last', async () => {
  const parts = await events.subscribed();
  const reader = await events.read(events.plane.adminToken);
  await reader.next(isReady);
  const slow = events.plane.dataSource.createQueryRunner();
  await slow.startTransaction();
  await slow.query(
    'INSERT INTO stream_events (user_id, kind, data) VALUES ($1, \'wallet\', \'{"micros":"4711"}\')',
    [parts.account.id],
  );
  const rid = await events.book(parts);
  await looks(events.plane.app, 2);
  expect(reader.events.some(isFor(rid))).toBe(false);
  await slow.commitTransaction();
  await slow.release();
  await reader.next(({ data }) => data.balance === '0.004711');
  await reader.next(isFor(rid));
});

test('every one of many readers gets every event, in order', async () => {
  const parts = await events.subscribed();
  const early = await events.read(parts.account.token);
  const { id } = await early.next(isReady);
  const rids: string[] = [];
  const all: EventReader[] = [early];
  for (let round = 0; round < 10; round += 1) {
    rids.push(await events.book(parts, 1));
    all.push(
      await events.read(parts.account.token, {
        lastId: id,
        ...(round % 2 === 0 ? { at: otherReplica() } : {}),
      }),
    );
  }
  rids.push(await events.book(parts, 1));
  for (const reader of all) {
    await reader.next(isFor(rids.at(-1) ?? ''));
    // The events are compared with their ids, which say where an event out of place came from.
    expect(
      reader.events
        .filter(({ event }) => event === 'requests')
        .map(({ id: position, data }) => ({ position, rid: data.newest?.[0]?.rid })),
    ).toEqual(rids.map((rid) => ({ position: expect.any(String), rid })));
  }
});

test.each([['17.3'], ['99999999999999.1'], ['x'], ['-1.1']])(
  'a stream from %s, which is no longer held or never was, sends `reset` and goes on from now',
  async (lastId) => {
    await ledger.query(
      'UPDATE stream_horizon SET xid = (pg_current_xact_id()::text::bigint - 1)::text::xid8',
    );
    const parts = await events.subscribed();
    const reader = await events.read(parts.account.token, { lastId });
    await reader.next(({ event }) => event === 'reset');
    await reader.next(isFor(await events.book(parts)));
  },
);

test('a stream can resume for a quarter of an hour; older events are deleted, and a reader of theirs gets `reset`', async () => {
  const parts = await events.subscribed();
  const reader = await events.read(parts.account.token);
  const { id } = await reader.next(isReady);
  await events.book(parts);
  await ledger.query("UPDATE stream_events SET created_at = now() - interval '16 minutes'");
  await events.plane.app.get(EventStore, { strict: false }).forgetOld();
  expect(await ledger.query('SELECT 1 FROM stream_events')).toEqual([]);
  const late = await events.read(parts.account.token, { lastId: id });
  await late.next(({ event }) => event === 'reset');
});

test('a stream from a transaction that still runs, whose events no client can have read, sends `reset`', async () => {
  const { plane } = events;
  const running = plane.dataSource.createQueryRunner();
  await running.startTransaction();
  const [{ xid }] = await running.query('SELECT pg_current_xact_id()::text AS xid');
  const reader = await events.read(plane.adminToken, { lastId: `${xid}.7` });
  await reader.next(({ event }) => event === 'reset');
  await running.rollbackTransaction();
  await running.release();
});
