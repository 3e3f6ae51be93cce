import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createControlPlaneMac, encryptionKeysOf, type FleetMessage } from '@tollgate/contracts';
import { FleetStore, FunctionLibrary, openRedis, type RedisConnection } from '@tollgate/keyspace';
import { until } from '@tollgate/harness';
import { uuidv7 } from '../../platform/http/visitor.ts';
import { FLEET_CREDENTIAL, type ControlPlane } from '../../testing/control-plane-under-test.ts';
import { sharedControlPlane } from '../../testing/shared-plane-under-test.ts';
import { SpeakingNode } from '../../testing/speaking-node.ts';

let plane: ControlPlane;
let node: SpeakingNode;
let listener: RedisConnection;
let eve: { id: number; token: string };
let mallory: { id: number; token: string };
const heard: FleetMessage[] = [];
const [oldest, newest] = [uuidv7(Date.now()), uuidv7(Date.now())];
const startedAt = Date.now() - 5_000;

beforeAll(async () => {
  plane = await sharedControlPlane();
  eve = await plane.createUser('eve');
  mallory = await plane.createUser('mallory');
  const row = (accountId: number, ageMs: number) => ({
    ...{ account_id: accountId, key_id: 1, model_id: 1, protocol: 'chat', is_stream: true },
    ...{ upstream_id: 1, started_at: startedAt - ageMs, tokens: 12, is_ending: false },
  });
  node = await new SpeakingNode({
    redisUrl: plane.services.redisUrl,
    name: 'running-node',
    credential: FLEET_CREDENTIAL,
    tables: {
      requests: [
        { key: newest, value: row(mallory.id, 0) },
        { key: oldest, value: row(eve.id, 60_000) },
        { key: uuidv7(Date.now()), value: { of: 'a later release' } },
      ],
    },
  }).start();
  listener = openRedis(plane.services.redisUrl, {
    role: 'subscriber',
    name: 'spec',
    onError: () => undefined,
  });
  await new FleetStore({ redis: listener, library: new FunctionLibrary(listener) }).subscribe(
    listener,
    (message) => heard.push(message),
  );
  await until('the node is known', async () => (await list(plane.adminToken)).total > 0);
});
afterAll(() => {
  node.stop();
  listener.disconnect();
});

const list = async (token: string, query = '') =>
  (await plane.call('GET', `/running-requests?${query}`, { token })).body;
const end = (token: string, rid: string, reason = 'it runs away') =>
  plane.call('POST', `/running-requests/${rid}/end`, { token, body: { reason } });

test('administrators see who runs what, where and for how long, the longest first; users their own, without upstream and node', async () => {
  const { data } = await list(plane.adminToken);
  expect(data).toMatchObject([
    { rid: oldest, username: 'eve', upstream_id: 1, node: 'running-node:0', tokens: 12 },
    { rid: newest, username: 'mallory' },
  ]);
  expect((await list(plane.adminToken, `user_id=${mallory.id}`)).data).toMatchObject([
    { rid: newest },
  ]);
  expect((await list(eve.token)).data).toEqual([
    expect.objectContaining({ rid: oldest, upstream_id: null, upstream: null, node: null }),
  ]);
  expect(
    (await plane.call('GET', `/running-requests?user_id=${mallory.id}`, { token: eve.token }))
      .status,
  ).toBe(404);
});

test('a request is ended by its own account and administrators, with a reason in the activity log; nodes hear it signed', async () => {
  expect((await end(eve.token, newest)).status).toBe(404);
  expect((await end(eve.token, oldest, '  ')).status).toBe(400);
  expect(heard.filter(({ kind }) => kind === 'end_request')).toEqual([]);
  expect((await end(eve.token, oldest)).body).toEqual({ rid: oldest });
  expect((await end(plane.adminToken, newest, 'an incident')).status).toBe(200);
  const ended = (): FleetMessage[] => heard.filter(({ kind }) => kind === 'end_request');
  await until('both are announced', async () => ended().length === 2);
  const mac = createControlPlaneMac(
    encryptionKeysOf({ ENCRYPTION_KEY: plane.environment['ENCRYPTION_KEY'] ?? '' }),
  );
  for (const message of ended())
    expect(
      message.kind === 'end_request' && mac.isSigned('end-request', [message.rid], message.mac),
    ).toBe(true);
  const { body: log } = await plane.call('GET', '/activity/logs?action=request.end', {
    token: plane.adminToken,
  });
  expect(log.data).toMatchObject([
    { action: 'request.end', target_id: newest, after: { reason: 'an incident' } },
    { action: 'request.end', target_id: oldest, after: { reason: 'it runs away' } },
  ]);
});

test('however many tabs look, nodes are asked once a second for each account', async () => {
  heard.length = 0;
  const startedMs = performance.now();
  await Promise.all(Array.from({ length: 50 }, () => list(plane.adminToken)));
  const seconds = Math.ceil((performance.now() - startedMs) / 900);
  expect(heard.filter(({ kind }) => kind === 'dump').length).toBeLessThanOrEqual(seconds);
});
