import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from '@jest/globals';
import { negotiate, type UsageFinal } from '@tollgate/contracts';
import { Gate } from '../pipeline/request/gate.ts';
import { Metrics } from './metrics.ts';

const RID = '01990000-0000-7000-8000-000000000001';
const FINAL: UsageFinal = {
  kind: 'usage',
  account_id: 77_001,
  key_id: 77_002,
  subscription_id: 77_003,
  model_id: 1,
  price_version_id: 1,
  node: 'node-a:0',
  protocol: 'chat',
  is_stream: true,
  upstream_id: 1,
  attempts: [{ upstream_id: 1, route_id: 1, status: 200, duration_ms: 120 }],
  outcome: 'completed',
  status: 200,
  input_tokens: 100,
  cache_read_tokens: 20,
  cache_write_tokens: 3,
  output_tokens: 11,
  reasoning_tokens: 0,
  charge: 134,
  basis: 'reported',
  started_at: 0,
  first_token_ms: 200,
  duration_ms: 1200,
};

const metricsOf = (upstreams = 1): Metrics =>
  new Metrics({
    credential: 'a credential of the node',
    worker: 0,
    modelsMax: 100,
    readings: {
      gate: new Gate(() => null),
      isReady: () => true,
      background: () => 0,
      keptBytes: () => 0,
      recorder: () => ({ unacknowledged: 0, journalsSetAside: 0 }),
      failOpen: () => ({ admissions: 0, tokens: 0 }),
      snapshotVersion: () => 1,
      upstreams: () =>
        Array.from({ length: upstreams }, (_, id) => ({
          upstream_id: id + 1,
          in_flight: 1,
          latency_ms: 5,
          open_for_ms: 0,
          accounts_resting: 0,
        })),
    },
  });
const samples = (text: string): string[] =>
  text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));

test('10,000 models and 10,000 upstreams are scraped as a bounded number of series, and no request is lost from them', async () => {
  const metrics = metricsOf(10_000);
  for (let index = 0; index < 10_000; index += 1)
    metrics.ended(
      RID,
      {
        ...FINAL,
        model_id: index + 1,
        attempts: [{ upstream_id: index + 1, route_id: 1, status: 200, duration_ms: 1 }],
      },
      { model: `model-${index}` },
    );
  const lines = samples(await metrics.text());
  expect(lines.length).toBeLessThan(10_000);
  const counted = (name: string): number =>
    lines
      .filter((line) => line.startsWith(name))
      .reduce((sum, line) => sum + Number(line.split('} ')[1]?.split(' ')[0]), 0);
  expect(counted('gen_ai_client_operation_duration_seconds_count')).toBe(10_000);
  expect(counted('tollgate_upstream_attempts_total')).toBe(10_000);
  expect(counted('tollgate_tokens_total{gen_ai_request_model="_other"')).toBe(9_900 * 134);
});

test('prompt tokens above their bound are counted by upstream and model', async () => {
  const metrics = metricsOf();
  metrics.ended(RID, { ...FINAL, upstream_id: 3 }, { model: 'gpt', excessTokens: 700 });
  metrics.ended(RID, { ...FINAL, upstream_id: 3 }, { model: 'gpt', excessTokens: 20 });
  metrics.ended(RID, { ...FINAL, upstream_id: 3 }, { model: 'gpt', excessTokens: 0 });
  expect(await metrics.text()).toContain(
    'tollgate_prompt_excess_tokens_total{upstream_id="3",gen_ai_request_model="gpt",worker="0"} 720\n',
  );
});

test('no label names an account, a key or a subscription', async () => {
  const metrics = metricsOf();
  metrics.ended(RID, FINAL, { model: 'gpt' });
  expect(await metrics.text()).not.toMatch(/7700[123]/);
});

test('token usage, time to first token and per output token follow the conventions, with the request as exemplar', async () => {
  const metrics = metricsOf();
  metrics.ended(RID, FINAL, { model: 'gpt' });
  const text = await metrics.text();
  const chat = 'gen_ai_operation_name="chat",gen_ai_request_model="gpt"';
  for (const line of [
    `gen_ai_client_token_usage_sum{worker="0",${chat},gen_ai_token_type="input"} 123`,
    `gen_ai_client_token_usage_sum{worker="0",${chat},gen_ai_token_type="output"} 11`,
    'gen_ai_server_time_to_first_token_seconds_sum{worker="0",gen_ai_request_model="gpt"} 0.2',
    // The ten tokens after the first take one second.
    'gen_ai_server_time_per_output_token_seconds_sum{worker="0",gen_ai_request_model="gpt"} 0.1',
  ])
    expect(text).toContain(`${line}\n`);
  expect(text).toContain(`# {request_id="${RID}"} 0.2 `);
});

test('docs/metrics.md lists every metric of a node, and no other', async () => {
  const text = await readFile(
    path.join(import.meta.dirname, '../../../../docs/metrics.md'),
    'utf8',
  );
  const section = text.split('## Of a control plane')[0] ?? '';
  const listed = [...section.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name);
  const { text: scraped } = negotiate(undefined, await metricsOf().text());
  const exported = [...scraped.matchAll(/^# TYPE (\w+) /gm)].map(([, name]) => name ?? '');
  expect(exported.filter((name) => !/^(process|nodejs)_/.test(name)).toSorted()).toEqual(
    listed.toSorted(),
  );
});
