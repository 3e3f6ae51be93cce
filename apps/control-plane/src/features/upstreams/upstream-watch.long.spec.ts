import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { eventually } from '@tollgate/harness';
import { startControlPlane, type ControlPlane } from '../../testing/control-plane-under-test.ts';
import { SpeakingNode } from '../../testing/speaking-node.ts';

/** Is several looks, on a busy machine too. */
const WITHIN_MS = 25_000;

let plane: ControlPlane;
let node: SpeakingNode;
let upstreamId: number;
/** Holds what the node says it has seen of upstreams; the test writes it. */
const health: { id: number; failures_in_row: number; open_for_ms: number }[] = [];

const admin = <Method extends string, Path extends string>(
  method: Method,
  path: Path,
  body?: unknown,
) => plane.call(method, path, { token: plane.adminToken, body });
const sees = (seen: { failures_in_row: number; open_for_ms: number } | null): void =>
  void health.splice(0, health.length, ...(seen ? [{ id: upstreamId, ...seen }] : []));
const openAlerts = async (): Promise<{ subject: string; message: string; detail: unknown }[]> =>
  (await admin('GET', '/admin/alerts?rule=upstream_failing')).body.data;
const raised = (): Promise<void> =>
  eventually(
    async () =>
      expect(await openAlerts()).toMatchObject([
        { subject: `upstream:${upstreamId}`, detail: { workers: ['watcher:0'] } },
      ]),
    WITHIN_MS,
  );
const resolved = (): Promise<void> =>
  eventually(async () => expect(await openAlerts()).toEqual([]), WITHIN_MS);

beforeAll(async () => {
  plane = await startControlPlane();
  node = await new SpeakingNode({
    redisUrl: plane.services.redisUrl,
    name: 'watcher',
    credential: plane.environment['FLEET_CREDENTIAL'] ?? '',
    reports: { upstreams: health },
  }).start();
  upstreamId = (
    await admin('POST', '/upstreams', {
      name: 'shaky',
      protocol: 'openai',
      base_url: 'https://shaky.example/v1',
      api_key: 'k',
    })
  ).body.id;
}, 60_000);
afterAll(async () => {
  node?.stop();
  await plane?.stop();
});

test('an upstream that a worker rests raises an alert at once, and its recovery resolves it', async () => {
  sees({ failures_in_row: 4, open_for_ms: 0 });
  await resolved();
  sees({ failures_in_row: 5, open_for_ms: 5_000 });
  await raised();
  expect((await openAlerts())[0]?.message).toBe(
    'Upstream shaky failed 5 requests in a row or more; nodes send nothing to the routes that failed for up to 15 s, then try each with one request',
  );
  sees({ failures_in_row: 0, open_for_ms: 0 });
  await resolved();
}, 90_000);

test('the alert of an upstream that no worker has tried since its breaker ended is resolved', async () => {
  sees({ failures_in_row: 5, open_for_ms: 5_000 });
  await raised();
  sees({ failures_in_row: 5, open_for_ms: 0 });
  await resolved();
}, 90_000);

test('the alert of an upstream that was reconfigured, so that its node has no history of it, is resolved', async () => {
  sees({ failures_in_row: 7, open_for_ms: 20_000 });
  await raised();
  sees(null);
  await resolved();
}, 90_000);
