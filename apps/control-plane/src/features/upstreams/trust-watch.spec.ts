import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { NodeReport } from '@tollgate/contracts';
import { eventually } from '@tollgate/harness';
import { startControlPlane, type ControlPlane } from '../../testing/control-plane-under-test.ts';
import { SpeakingNode } from '../../testing/speaking-node.ts';
import { TrustWatch } from './trust-watch.ts';

/** Two looks of the control plane by itself, on a busy machine too. */
const WITHIN_MS = 25_000;

let plane: ControlPlane;
let upstreamId: number;
const nodes: SpeakingNode[] = [];
/** What both workers report of upstreams; the test writes it. */
const doubted: NonNullable<NodeReport['doubted']> = [];

const admin = <Method extends string, Path extends string>(
  method: Method,
  path: Path,
  body?: unknown,
) => plane.call(method, path, { token: plane.adminToken, body });
const open = async (rule: string): Promise<unknown[]> =>
  (await admin('GET', `/admin/alerts?rule=${rule}`)).body.data;
const reports = (seen: Omit<(typeof doubted)[number], 'id'> | null): void =>
  void doubted.splice(0, doubted.length, ...(seen ? [{ id: upstreamId, ...seen }] : []));

/** Those that are open after a look. */
const openNow = async (rule: string): Promise<unknown[]> => {
  await plane.app.get(TrustWatch, { strict: false }).look();
  return open(rule);
};

beforeAll(async () => {
  plane = await startControlPlane();
  for (const worker of [0, 1])
    nodes.push(
      await new SpeakingNode({
        redisUrl: plane.services.redisUrl,
        name: 'watcher',
        worker,
        credential: plane.environment['FLEET_CREDENTIAL'] ?? '',
        later: { lineage: 1, abilities: [], upstreams: [], doubted },
      }).start(),
    );
  upstreamId = (
    await admin('POST', '/upstreams', {
      name: 'odd',
      protocol: 'openai',
      base_url: 'https://odd.example/v1',
    })
  ).body.id;
}, 60_000);
afterAll(async () => {
  for (const node of nodes) node.stop();
  await plane?.stop();
});

test('repeated doubt of an upstream raises one alert, counted over all workers, and closes with its reason', async () => {
  reports({ doubts: 2, last_doubt: 'output_below_text', hold_factor: 1 });
  await eventually(
    async () =>
      expect(await open('usage_doubted')).toMatchObject([
        {
          subject: `upstream:${upstreamId}`,
          detail: { doubts: 4, last_doubt: 'output_below_text' },
        },
      ]),
    WITHIN_MS,
  );
  expect(await open('upstream_overruns')).toEqual([]);
  reports(null);
  await eventually(async () => expect(await openNow('usage_doubted')).toEqual([]));
}, 60_000);

test('an upstream that overruns its limits raises an alert that says by how much holds are multiplied', async () => {
  reports({ doubts: 1, last_doubt: 'output_beyond_limit', hold_factor: 8 });
  await eventually(async () =>
    expect(await openNow('upstream_overruns')).toMatchObject([
      { subject: `upstream:${upstreamId}`, detail: { hold_factor: 8 } },
    ]),
  );
  reports(null);
  await eventually(async () => expect(await openNow('upstream_overruns')).toEqual([]));
}, 60_000);
