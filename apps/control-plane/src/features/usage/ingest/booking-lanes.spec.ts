import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { QueryFailedError } from 'typeorm';
import { BookingLanes, type Delivery } from './booking-lanes.ts';

const EVENT = { shard: '', epoch: '', outboxId: '', rid: '', seq: '0', delta: '0', payload: '' };
const job = (id: string, count = 1): Delivery => ({
  events: Array.from({ length: count }, () => EVENT),
  job: { id, queuedAtMs: 0 },
});
const namesOf = (deliveries: readonly Delivery[]) => deliveries.map((each) => each.job?.id).join();

/** Makes lanes whose transactions end when the test says so. */
function lanesUnderTest(lanes: number, eventsMax: number) {
  const begun: string[] = [];
  const ends = new Map<string, (error?: Error) => void>();
  const subject = new BookingLanes({
    lanes,
    eventsMax,
    soon: setImmediate,
    book: (deliveries) => {
      const names = namesOf(deliveries);
      begun.push(names);
      return new Promise((resolve, reject) =>
        ends.set(names, (error) => (error ? reject(error) : resolve())),
      );
    },
  });
  const end = async (names: string, error?: Error): Promise<void> => {
    ends.get(names)?.(error);
    await turn();
    await turn();
  };
  return { subject, begun, end };
}

test('a job that waits alone is booked at once, those that come meanwhile together', async () => {
  const { subject, begun, end } = lanesUnderTest(1, 10);
  const first = subject.add(job('a'));
  await turn();
  const others = ['b', 'c', 'd'].map((name) => subject.add(job(name)));
  await turn();
  expect(begun).toEqual(['a']);
  await end('a');
  await first;
  expect(begun).toEqual(['a', 'b,c,d']);
  await end('b,c,d');
  await Promise.all(others);
});

test('a transaction takes no more events than it may, but one job always', async () => {
  const { subject, begun, end } = lanesUnderTest(1, 10);
  for (const [name, count] of [
    ['a', 12],
    ['b', 6],
    ['c', 4],
    ['d', 1],
  ] as const)
    void subject.add(job(name, count));
  await turn();
  await end('a');
  await end('b,c');
  expect(begun).toEqual(['a', 'b,c', 'd']);
});

test('no more transactions run at the same time than there are lanes', async () => {
  const { subject, begun, end } = lanesUnderTest(2, 1);
  for (const name of ['a', 'b', 'c']) void subject.add(job(name));
  await turn();
  expect(begun).toEqual(['a', 'b']);
  await end('b');
  expect(begun).toEqual(['a', 'b', 'c']);
});

test.each([
  ['a statement that took too long', '57014'],
  ['a lock that was not given in time', '55P03'],
])('jobs are tried alone after %s: one row may be held for long', async (_why, code) => {
  const { subject, begun, end } = lanesUnderTest(1, 10);
  const [a, b] = [subject.add(job('a')), subject.add(job('b'))];
  const waiting = expect(b).rejects.toThrow('refused');
  await turn();
  const error = new QueryFailedError('', [], Object.assign(new Error('refused'), { code }));
  await end('a,b', error);
  await end('a');
  await expect(a).resolves.toBeUndefined();
  await end('b', error);
  await waiting;
  expect(begun).toEqual(['a,b', 'a', 'b']);
});

test('a job fails for its own events alone', async () => {
  const { subject, begun, end } = lanesUnderTest(1, 10);
  const [a, b] = [subject.add(job('a')), subject.add(job('b'))];
  const failing = expect(b).rejects.toThrow('its own');
  await turn();
  await end('a,b', new Error('of both'));
  await end('a');
  await expect(a).resolves.toBeUndefined();
  await end('b', new Error('its own'));
  await failing;
  expect(begun).toEqual(['a,b', 'a', 'b']);
});

test.each([
  ['a connection that was lost', { code: '57P01' }],
  ['a connection that could not be made', { code: 'ECONNREFUSED' }],
  ['a disk that is full', { code: '53100' }],
  ['transactions that stayed in conflict', { code: '40P01' }],
  ['a server in recovery', { code: '25006' }],
])('jobs are not tried alone after %s: the queue repeats them later', async (_why, cause) => {
  const { subject, begun, end } = lanesUnderTest(1, 10);
  const both = Promise.allSettled([subject.add(job('a')), subject.add(job('b'))]);
  await turn();
  await end('a,b', new QueryFailedError('', [], Object.assign(new Error('refused'), cause)));
  expect(begun).toEqual(['a,b']);
  expect((await both).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  const next = subject.add(job('c'));
  await turn();
  await end('c');
  await expect(next).resolves.toBeUndefined();
});

test.each([
  ['the pool', new Error('timeout exceeded when trying to connect')],
  ['Redis', new Error('Connection is closed.')],
])('nor after no answer of %s', async (_what, error) => {
  const { subject, begun, end } = lanesUnderTest(1, 10);
  const both = Promise.allSettled([subject.add(job('a')), subject.add(job('b'))]);
  await turn();
  await end('a,b', error);
  expect(begun).toEqual(['a,b']);
  expect((await both).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
});

test('nor any longer once the server fails while they are tried alone', async () => {
  const { subject, begun, end } = lanesUnderTest(1, 10);
  const all = Promise.allSettled(['a', 'b', 'c'].map((name) => subject.add(job(name))));
  await turn();
  await end('a,b,c', new Error('of one of them'));
  await end('a');
  await end('b', new Error('timeout exceeded when trying to connect'));
  expect(begun).toEqual(['a,b,c', 'a', 'b']);
  expect((await all).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected']);
});
