import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { NodeReport } from '@tollgate/contracts';
import { eventually } from '@tollgate/harness';
import { startControlPlane, type ControlPlane } from '../../testing/control-plane-under-test.ts';
import { SpeakingNode } from '../../testing/speaking-node.ts';
import { TrustWatch } from './trust-watch.ts';
import { UpstreamWatch } from './upstream-watch.ts';

/** Is two looks of the control plane by itself, on a busy machine too. */
const WITHIN_MS = 25_000;

/** Reading from a cache is dearer here than reading. */
const PRICE = { price_per_million: '1', weight_input: '1', weight_cache_read: '2' };

let plane: ControlPlane;
let upstreamId: number;
const nodes: SpeakingNode[] = [];
/** Holds what both workers report of upstreams; the test writes it. */
const doubted: NonNullable<NodeReport['doubted']> = [];
const failing: NonNullable<NodeReport['upstreams']> = [];

const admin = <Method extends string, Path extends string>(
  method: Method,
  path: Path,
  body?: unknown,
) => plane.call(method, path, { token: plane.adminToken, body });
const open = async (rule: string): Promise<unknown[]> =>
  (await admin('GET', `/admin/alerts?rule=${rule}`)).body.data;
const reports = (seen: Omit<(typeof doubted)[number], 'id'> | null): void =>
  void doubted.splice(0, doubted.length, ...(seen ? [{ id: upstreamId, ...seen }] : []));

/** Returns the alerts that are open after a look. */
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
        reports: { upstreams: failing, doubted },
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

test('accounts for which an upstream rests are counted in the health of routing, and raise no alert', async () => {
  failing.push({ id: upstreamId, failures_in_row: 0, open_for_ms: 0, accounts_resting: 3 });
  await eventually(async () => {
    const { body } = await admin('GET', '/routing/health');
    expect(body.failing).toMatchObject(
      [0, 1].map((worker) => ({ worker, failures_in_row: 0, accounts_resting: 3 })),
    );
  });
  await plane.app.get(UpstreamWatch, { strict: false }).look();
  expect(await open('upstream_failing')).toEqual([]);
  failing.splice(0);
}, 60_000);

test('input above the bounds raises an alert that names upstream, model and excess; reading by itself is proposed only where all upstreams of the model exceed', async () => {
  const model = (
    await admin('POST', '/models', { name: 'searcher', context_window: 100_000, price: PRICE })
  ).body;
  const route = (upstream_id: number) =>
    admin('POST', '/routing', { model_id: model.id, upstream_id, upstream_model: 'real' });
  await route(upstreamId);
  const excess = [{ model_id: model.id, answers: 2, tokens: 900, largest: 700 }];
  const seen = { doubts: 1, last_doubt: 'prompt_beyond_bound', hold_factor: 1, excess };
  reports(seen);
  const alertOf = async () => (await openNow('prompt_excess')) as { message: string }[];
  await eventually(async () =>
    expect(await alertOf()).toMatchObject([
      {
        subject: `upstream:${upstreamId}`,
        detail: { upstream: 'odd', model: 'searcher', tokens: 1_800, answers: 4, largest: 700 },
      },
    ]),
  );
  const [alone] = await alertOf();
  expect(alone?.message).toContain('reads_more_than_sent allows, and holds, up to 1000000 input');
  expect(alone?.message).toContain('a charge of 2000000 tokens');
  const other = (
    await admin('POST', '/upstreams', {
      name: 'even',
      protocol: 'openai',
      base_url: 'https://even.example/v1',
    })
  ).body.id;
  await route(other);
  await eventually(async () =>
    expect((await alertOf())[0]?.message).not.toContain('reads_more_than_sent'),
  );
  expect((await alertOf())[0]?.message).toContain('model searcher: 1800 tokens in 4 answers');
  reports(null);
  await eventually(async () => expect(await openNow('prompt_excess')).toEqual([]));
}, 60_000);
