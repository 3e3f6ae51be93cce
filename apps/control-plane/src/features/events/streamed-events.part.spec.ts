import { afterEach, beforeAll, expect, jest, test } from '@jest/globals';
import { eventually } from '@tollgate/harness';
import {
  closeReaders,
  eventsUnderTest,
  isFor,
  isReady,
  type EventsUnderTest,
} from '../../testing/events-under-test.ts';
import type { EventReader } from '../../testing/event-stream-under-test.ts';
import { ledgerOf, usageEvent } from '../../testing/ledger-under-test.ts';
import { SpeakingNode } from '../../testing/speaking-node.ts';
import { AlertsService } from '../alerts/alerts.service.ts';
import { SILENCE_MS } from '../proxy-nodes/node-watch.ts';
import { UsageWorker } from '../usage/ingest/usage-worker.ts';

let events: EventsUnderTest;
let ledger: ReturnType<typeof ledgerOf>;
const nodes: SpeakingNode[] = [];
beforeAll(async () => {
  events = await eventsUnderTest();
  ledger = ledgerOf(events.plane);
  await ledger.initialiseShards();
}, 60_000);
closeReaders();
afterEach(() => {
  for (const node of nodes.splice(0)) node.stop();
  jest.restoreAllMocks();
});

test('a stream sends a booked request, the balance it leaves and the wallet when they commit', async () => {
  const parts = await events.subscribed();
  const reader = await events.read(parts.account.token);
  const administrator = await events.read(events.plane.adminToken);
  await reader.next(isReady);
  await administrator.next(isReady);
  const rid = await events.book(parts, 25);
  const requests = await reader.next(isFor(rid));
  expect(requests.data).toMatchObject({
    user_id: parts.account.id,
    count: 1,
    // Suppliers are the operator's.
    newest: [
      { rid, charge: 25, model: parts.model.name, node: null, upstream_id: null, route: [] },
    ],
  });
  expect((await administrator.next(isFor(rid))).data.newest).toMatchObject([
    { node: 'node-a:0', upstream_id: 1, route: [{ upstream_id: 1 }] },
  ]);
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

test('a stream sends of a batch how many requests it has, and the newest twenty', async () => {
  const parts = await events.subscribed();
  const reader = await events.read(parts.account.token);
  await events.plane.app
    .get(UsageWorker)
    .process(Array.from({ length: 30 }, () => usageEvent(1, parts)));
  const { data } = await reader.next(({ event }) => event === 'requests');
  expect([data.count, data.newest?.length]).toEqual([30, 20]);
});

test('a user sees only their own events; an administrator sees all, or those of one account', async () => {
  const [mine, theirs] = [await events.subscribed(), await events.subscribed()];
  const [user, admin, narrowed] = [
    await events.read(mine.account.token),
    await events.read(events.plane.adminToken),
    await events.read(events.plane.adminToken, { query: `?user_id=${theirs.account.id}` }),
  ];
  await events.raise('installation');
  await events.raise(`subscription:${theirs.subscriptionId}`);
  await events.raise(`subscription:${mine.subscriptionId}`);
  const theirRid = await events.book(theirs);
  const myRid = await events.book(mine);
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
    (await events.read(mine.account.token, { query: `?user_id=${theirs.account.id}` })).status,
  ).toBe(404);
});

test('a stream sends an alert once when it is raised and once when it is resolved', async () => {
  const reader = await events.read(events.plane.adminToken);
  await reader.next(isReady);
  await events.raise('once');
  await events.raise('once');
  // A stream reports the state that it finds: an alert that ends before that is one event.
  await reader.next(({ data }) => data.subject === 'once' && data.status === 'open');
  await events.plane.app
    .get(AlertsService, { strict: false })
    .resolve(events.plane.dataSource.manager, { rule: 'low_balance', subject: 'once' });
  await reader.next(({ data }) => data.subject === 'once' && data.status === 'resolved');
  expect(reader.events.filter(({ data }) => data.subject === 'once')).toHaveLength(2);
});

test("a stream sends each node's acknowledgement of a new version, and that a node fell silent", async () => {
  const reader = await events.read(events.plane.adminToken);
  const { credential } = (await ledger.asAdmin('POST', '/proxy-nodes', { name: 'streamed' })).body;
  const node = await new SpeakingNode({
    redisUrl: events.plane.services.redisUrl,
    name: 'streamed',
    credential,
  }).start();
  nodes.push(node);
  const { version } = (await ledger.asAdmin('POST', '/proxy-nodes/sync-all')).body;
  const acknowledged = await reader.next(
    ({ event, data }) =>
      event === 'node' &&
      data.name === 'streamed' &&
      data.workers?.some((worker) => worker.version === version) === true,
  );
  expect(acknowledged.data.workers?.[0]?.applied_at).toEqual(expect.any(String));
  node.stop();
  const now = performance.now.bind(performance);
  jest.spyOn(performance, 'now').mockImplementation(() => now() + SILENCE_MS);
  await eventually(async () => {
    expect(reader.events.findLast(({ data }) => data.name === 'streamed')?.data.state).toBe(
      'offline',
    );
  });
});
