import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  createCustomer,
  createRoutedModel,
  findFreePort,
  startTollgate,
  subscribeWithKey,
  type Tollgate,
  letPass,
  until,
} from '@tollgate/harness';
import { prometheusProgram, ROOT } from '@tollgate/tools';
import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { z } from 'zod';

/** Boards, rules and scrape configuration run with a real Prometheus, an installation that runs and traffic of many kinds. */
const PROMETHEUS = path.join(ROOT, 'deploy/prometheus');
const GRAFANA = path.join(ROOT, 'deploy/grafana');
const CREDENTIAL = randomBytes(32).toString('base64url');
/** Is long enough for rates over `RATE_INTERVAL`. */
const TRAFFIC_MS = 14_000;
const RATE_INTERVAL = '10s';
/** Holds what the demo upstream does, by the model's name there. */
const MODES = ['demo-ok', 'demo-500', 'demo-dies', 'demo-no-usage'];
/** Panels of what does not happen here: nothing is refused for want of Redis, no alert is open. */
const QUIET = new Set(['Open alerts']);

const boardFile = z.object({
  title: z.string(),
  panels: z.array(
    z.object({
      title: z.string(),
      targets: z.array(z.object({ expr: z.string().optional(), rawSql: z.string().optional() })),
    }),
  ),
});
const boards = readdirSync(GRAFANA).map((file) =>
  boardFile.parse(JSON.parse(readFileSync(path.join(GRAFANA, file), 'utf8'))),
);
const targets = boards.flatMap(({ title: board, panels }) =>
  panels.flatMap(({ title, targets: queries }) =>
    queries.map(({ expr, rawSql }) => ({ name: `${board}: ${title}`, title, expr, rawSql })),
  ),
);
const samples = z.object({
  status: z.literal('success'),
  data: z.object({
    result: z.array(
      z.object({
        metric: z.record(z.string(), z.string()),
        value: z.tuple([z.number(), z.string()]),
      }),
    ),
  }),
});

let tollgate: Tollgate;
let prometheus: ChildProcess;
let folder: string;
let origin: string;
/** Is in seconds since the epoch: queries are as of then, however long they take to come. */
let trafficEndedAt: string;

beforeAll(async () => {
  tollgate = await startTollgate({ nodes: 2, env: { METRICS_CREDENTIAL: CREDENTIAL } });
  folder = mkdtempSync(path.join(tmpdir(), 'tollgate-prometheus-'));
  const port = await findFreePort();
  origin = `http://127.0.0.1:${port}`;
  writeFileSync(path.join(folder, 'credential'), CREDENTIAL);
  writeFileSync(path.join(folder, 'prometheus.yaml'), configuration());
  prometheus = spawn(
    await prometheusProgram('prometheus'),
    [
      `--config.file=${folder}/prometheus.yaml`,
      `--storage.tsdb.path=${folder}/data`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--enable-feature=exemplar-storage',
      '--log.level=error',
    ],
    { stdio: ['ignore', 'ignore', 'inherit'] },
  );
  await until('Prometheus is ready', () =>
    fetch(`${origin}/-/ready`).then(
      ({ ok }) => ok,
      () => false,
    ),
  );
  await drive();
  trafficEndedAt = String(Date.now() / 1_000);
}, 240_000);
afterAll(async () => {
  if (prometheus.exitCode === null) {
    prometheus.kill('SIGTERM');
    await once(prometheus, 'exit');
  }
  await tollgate.stop();
  rmSync(folder, { recursive: true, force: true });
});

describe('Prometheus', () => {
  test('reads every target of the sample configuration', async () => {
    const { data } = z
      .object({
        data: z.object({
          activeTargets: z.array(z.object({ health: z.string(), lastError: z.string() })),
        }),
      })
      .parse(await api('targets'));
    expect(data.activeTargets.map(({ health, lastError }) => ({ health, lastError }))).toEqual(
      Array.from({ length: 3 }, () => ({ health: 'up', lastError: '' })),
    );
  });

  test('evaluates every rule', async () => {
    const { data } = z
      .object({
        data: z.object({
          groups: z.array(
            z.object({
              rules: z.array(
                z.object({
                  name: z.string(),
                  health: z.string(),
                  lastError: z.string().optional(),
                }),
              ),
            }),
          ),
        }),
      })
      .parse(await api('rules'));
    const rules = data.groups.flatMap((group) => group.rules);
    expect(rules.length).toBeGreaterThan(40);
    expect(rules.filter(({ health }) => health !== 'ok')).toEqual([]);
  });

  test('has every metric that docs/metrics.md lists, and no other of the product', async () => {
    const { data: names } = z
      .object({ data: z.array(z.string()) })
      .parse(await api('label/__name__/values'));
    const scraped = new Set(
      names
        .filter((name) => /^(tollgate|gen_ai|http_server)_/.test(name))
        .map((name) => name.replace(/_(?:bucket|count|sum)$/, '')),
    );
    const listed = [
      ...readFileSync(path.join(ROOT, 'docs/metrics.md'), 'utf8').matchAll(/^\| `(\w+)` \|/gm),
    ].map(([, name]) => name ?? '');
    expect([...scraped].toSorted()).toEqual(
      [...new Set(listed)].filter((name) => !/^(process|nodejs)_/.test(name)).toSorted(),
    );
    expect(
      listed.filter((name) => /^(process|nodejs)_/.test(name) && !names.includes(name)),
    ).toEqual([]);
  });

  test('keeps exemplars that name requests', async () => {
    const { data } = z
      .object({
        data: z.array(
          z.object({ exemplars: z.array(z.object({ labels: z.record(z.string(), z.string()) })) }),
        ),
      })
      .parse(
        await api('query_exemplars', {
          query: 'gen_ai_client_operation_duration_seconds_bucket',
          start: String(Date.now() / 1000 - 300),
          end: String(Date.now() / 1000 + 60),
        }),
      );
    expect(data[0]?.exemplars[0]?.labels).toEqual({
      request_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    });
  });
});

describe('each panel', () => {
  test.each(targets.filter(({ expr }) => expr !== undefined))(
    '$name has data',
    async ({ title, expr = '' }) => {
      const found = await Promise.all(
        (await upstreamIds()).map((id) => query(asked(expr).replaceAll('$upstream', id))),
      );
      const result = found.flat();
      if (!QUIET.has(title)) expect(result.length).toBeGreaterThan(0);
      for (const { value } of result) expect(Number(value[1])).not.toBeNaN();
    },
  );

  test.each(targets.filter(({ rawSql }) => rawSql !== undefined))(
    '$name reads the ledger',
    async ({ rawSql = '' }) => {
      const client = new pg.Client({ connectionString: tollgate.databaseUrl });
      await client.connect();
      try {
        const { rows: accounts } = await client.query('SELECT user_id FROM usage_rollups LIMIT 1');
        const { rows } = await client.query(
          rawSql
            .replaceAll('$account', String(accounts[0].user_id))
            .replaceAll(/\$__timeFilter\((\w+)\)/g, "$1 > now() - interval '6 hours'"),
        );
        expect(rows.length).toBeGreaterThan(0);
      } finally {
        await client.end();
      }
    },
  );
});

test('an upstream that never answers has failed in full', async () => {
  const { expr = '' } = targets.find(({ name }) => name === 'Tollgate: one upstream: Failed') ?? {};
  const shares = await Promise.all(
    (await upstreamIds()).map((id) => query(asked(expr).replaceAll('$upstream', id))),
  );
  expect(shares.flat().map(({ value }) => Number(value[1]))).toContain(1);
});

/** Asks like Grafana, over less time. */
function asked(expression: string): string {
  return expression
    .replaceAll('$__rate_interval', RATE_INTERVAL)
    .replaceAll(/\[(5m|1h)\]/g, `[${RATE_INTERVAL}]`);
}

async function upstreamIds(): Promise<string[]> {
  const series = await query('max by (upstream_id) (tollgate_upstream_attempts_total)');
  return series.map(({ metric }) => metric['upstream_id'] ?? '');
}

/** Writes the sample with the addresses of this installation; it is read every second. */
function configuration(): string {
  const host = (url: string): string => `'${new URL(url).host}'`;
  return readFileSync(path.join(PROMETHEUS, 'prometheus.example.yaml'), 'utf8')
    .replace(/15s, evaluation_interval: 15s/, '1s, evaluation_interval: 1s')
    .replace('[tollgate.rules.yaml]', `['${PROMETHEUS}/tollgate.rules.yaml']`)
    .replaceAll('/etc/prometheus/tollgate-metrics-credential', `${folder}/credential`)
    .replace("'node-1:8080', 'node-2:8080'", tollgate.nodeUrls.map(host).join(', '))
    .replace("'control-plane:8080'", host(tollgate.adminUrl));
}

/** Drives answers, streams, refusals, and upstreams that fail, for as long as rates need. */
async function drive(): Promise<void> {
  const customer = await createCustomer(tollgate);
  const models = [];
  for (const upstreamModel of MODES)
    models.push(await createRoutedModel(tollgate, { protocols: ['openai'], upstreamModel }));
  const key = await subscribeWithKey(customer, { modelIds: models.map(({ id }) => id) });
  await tollgate.admin.syncAll();
  const ask = (model: string, index: number, stream: boolean): Promise<string> =>
    fetch(`${tollgate.nodeUrls[index % 2]}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model,
        stream,
        messages: [{ role: 'user', content: '@demo tokens=20' }],
      }),
    })
      .then((response) => response.text())
      .catch(() => 'cut');
  const endsAt = performance.now() + TRAFFIC_MS;
  for (let index = 0; performance.now() < endsAt; index += 1) {
    await Promise.all([
      ...models.flatMap(({ name }) => [ask(name, index, true), ask(name, index + 1, false)]),
      ask('no-such-model', index, false),
      tollgate.admin.call('GET', '/models'),
    ]);
    await letPass(250, 'traffic is spread over several scrapes');
  }
}

async function api(what: string, parameters: Record<string, string> = {}): Promise<unknown> {
  return (
    await fetch(`${origin}/api/v1/${what}?${new URLSearchParams(parameters).toString()}`)
  ).json();
}

async function query(expression: string): Promise<z.output<typeof samples>['data']['result']> {
  const answer = await api('query', { query: expression, time: trafficEndedAt });
  const read = samples.safeParse(answer);
  if (!read.success) throw new Error(JSON.stringify(answer));
  return read.data.data.result;
}
