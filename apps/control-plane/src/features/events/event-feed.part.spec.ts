import { afterEach, beforeAll, expect, jest, test } from '@jest/globals';
import { eventually } from '@tollgate/harness';
import { loadConfig } from '../../config.ts';
import { createApp } from '../../create-app.ts';
import { createPino } from '../../platform/logging/logger.ts';
import { eventsUnderTest, type EventsUnderTest } from '../../testing/events-under-test.ts';
import type { PositionedEvent } from './event-details.ts';
import { EventFeed } from './event-feed.ts';
import { EventStore, type StoredEvent } from './event-store.sql.ts';

type Reading = { release: () => void; rows: Promise<StoredEvent[]> };

let events: EventsUnderTest;
const held: Reading[] = [];
beforeAll(async () => {
  events = await eventsUnderTest();
}, 60_000);
afterEach(() => {
  for (const { release } of held.splice(0)) release();
  jest.useRealTimers();
  jest.restoreAllMocks();
});

/** Each reading of `store` is done at once and answers when it is released: what a slow database does. */
function holdReadings(store: EventStore): Reading[] {
  const after = store.after.bind(store);
  const readings: Reading[] = [];
  jest.spyOn(store, 'after').mockImplementation(async (...asked) => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const rows = after(...asked);
    readings.push({ release, rows });
    held.push({ release, rows });
    await released;
    return rows;
  });
  return readings;
}

/** Returns the reading number `index`, once its rows are there. */
async function readingAt(readings: readonly Reading[], index: number): Promise<Reading> {
  const reading = await eventually(
    async () => readings[index] ?? Promise.reject(new Error(`reading ${index} does not begin`)),
  );
  await reading.rows;
  return reading;
}

/** Follows from now on and answers the subjects of the alerts that came. */
async function followWith(feed: EventFeed, store: EventStore) {
  const subjects: string[] = [];
  const listener = (batch: readonly PositionedEvent[]): void => {
    for (const { content } of batch)
      if (content.event === 'alert' && content.data.rule === 'low_balance')
        subjects.push(content.data.subject);
  };
  const state = { isOver: false };
  const isFollowing = feed.follow(await store.now(), listener, {
    userId: undefined,
    isOver: () => state.isOver,
  });
  const leave = (): void => {
    state.isOver = true;
    feed.stopFollowing(listener);
  };
  return { subjects, isFollowing, leave };
}

test('events are read in the order of their numbers, page by page, also where a number gets one more digit', async () => {
  const { app, dataSource } = events.plane;
  // The numbers are below those of any transaction of this database, and no other test has the account.
  const userId = 2_000_000_000;
  await dataSource.query(
    `INSERT INTO stream_events (xid, id, user_id, kind, data) OVERRIDING SYSTEM VALUE
     SELECT xid::xid8, id, $1, 'wallet', '{"micros":"1"}' FROM unnest($2::text[], $3::bigint[]) AS given (xid, id)`,
    [userId, ['10', '9', '10'], ['10', '1', '9']],
  );
  const read: string[] = [];
  let at = { xid: 0n, id: 0n };
  for (let page = 0; page < 4; page += 1)
    for (const { xid, id } of await app.get(EventStore).after(at, { limit: 1, userId })) {
      at = { xid, id };
      read.push(`${xid}.${id}`);
    }
  expect(read).toEqual(['9.1', '10.9', '10.10']);
});

test('a reader that comes while the last other leaves loses no event', async () => {
  const { app } = events.plane;
  const [feed, store] = [app.get(EventFeed), app.get(EventStore)];
  const first = await followWith(feed, store);
  await first.isFollowing;
  await events.raise('before-it-came');
  await eventually(async () => expect(first.subjects).toContain('before-it-came'));
  const readings = holdReadings(store);
  const second = await followWith(feed, store);
  const own = await readingAt(readings, readings.length - 1);
  await events.raise('one');
  // The looks of the feed serve the first reader. The own reading of the second is slow.
  await eventually(async () => {
    for (const reading of readings) if (reading !== own) reading.release();
    expect(first.subjects).toContain('one');
  });
  await events.raise('two');
  await eventually(async () => {
    const look = readings.at(-1);
    // A look from before the event finds nothing, and the next one begins after it.
    if ((await look?.rows)?.length === 0) look?.release();
    expect((await look?.rows)?.length).toBeGreaterThan(0);
  });
  first.leave();
  own.release();
  await second.isFollowing;
  for (const reading of readings) reading.release();
  jest.restoreAllMocks();
  await eventually(async () => expect(second.subjects).toEqual(['one', 'two']));
  second.leave();
});

test('a reader that leaves while its first events are read is not followed', async () => {
  const { app } = events.plane;
  const [feed, store] = [app.get(EventFeed), app.get(EventStore)];
  const readings = holdReadings(store);
  const reader = await followWith(feed, store);
  const own = await readingAt(readings, 0);
  jest.useFakeTimers();
  reader.leave();
  own.release();
  await reader.isFollowing;
  await jest.advanceTimersByTimeAsync(10_000);
  expect(readings).toHaveLength(1);
});

test('a feed that has closed reads nothing more for a reader that came before', async () => {
  const replica = await createApp(loadConfig(events.plane.environment), createPino('silent'));
  const [feed, store] = [replica.get(EventFeed), replica.get(EventStore)];
  const readings = holdReadings(store);
  const reader = await followWith(feed, store);
  const own = await readingAt(readings, 0);
  await replica.close();
  jest.useFakeTimers();
  own.release();
  await reader.isFollowing;
  await jest.advanceTimersByTimeAsync(10_000);
  expect(readings).toHaveLength(1);
}, 30_000);
