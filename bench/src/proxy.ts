import { spawn, type ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { createCustomer, startTollgate, subscribeWithKey, type Tollgate } from '@tollgate/harness';

/**
 * CPU and latency a proxied request costs, beside a bare proxy that meters nothing: the same upstream, the same load, one process each.
 * `npm run bench -- proxy [seconds]`. CPU is the process's own, from /proc, so that a busy machine disturbs it little.
 */
const TICKS_PER_SECOND = 100;
const CONNECTED = { stdio: ['ignore', 'pipe', 'inherit'] as ['ignore', 'pipe', 'inherit'] };
interface Figures {
  requests: number;
  failures: number;
  p50Ms: number;
  p99Ms: number;
}

export async function benchProxy([seconds = '8']: readonly string[]): Promise<void> {
  const children: ChildProcess[] = [];
  const tollgate = await startTollgate({ nodes: 1 });
  try {
    const upstream = await child('quick-upstream.ts', [], children);
    const bare = await child('bare-proxy.ts', [`http://127.0.0.1:${upstream.port}`], children);
    const { key, model } = await prepare(tollgate, upstream.port);
    const node = { pid: tollgate.pidOf('node-1') ?? 0, url: tollgate.nodeUrls[0] ?? '' };
    const rows: Record<string, unknown> = {};
    for (const kind of ['json', 'stream'] as const) {
      await load([node.url, key, model, kind, '2']);
      rows[`bare proxy, ${kind}`] = await measure(bare.pid, () =>
        load([`http://127.0.0.1:${bare.port}`, key, model, kind, seconds]),
      );
      rows[`tollgate node, ${kind}`] = await measure(node.pid, () =>
        load([node.url, key, model, kind, seconds]),
      );
    }
    console.table(rows);
  } finally {
    for (const process of children) process.kill();
    await tollgate.stop();
  }
}

async function prepare(tollgate: Tollgate, port: number): Promise<{ key: string; model: string }> {
  const { admin } = tollgate;
  const customer = await createCustomer(tollgate, { amount: '100000' });
  const model_id = await admin.createModel({
    name: 'bench',
    price: { price_per_million: '0.01' },
    is_on_shelf: true,
  });
  const upstream_id = await admin.createUpstream({
    name: 'quick',
    protocol: 'openai',
    base_url: `http://127.0.0.1:${port}/v1`,
  });
  await admin.createRoute({ model_id, upstream_id, upstream_model: 'bench-upstream' });
  const key = await subscribeWithKey(customer, { modelIds: [model_id], tokens: 1_000_000_000_000 });
  await admin.syncAll();
  return { key, model: 'bench' };
}

async function child(
  file: string,
  args: string[],
  children: ChildProcess[],
): Promise<{ port: number; pid: number }> {
  const started = spawn(
    process.execPath,
    [path.join(import.meta.dirname, file), ...args],
    CONNECTED,
  );
  children.push(started);
  const port = Number(await firstLine(started));
  return { port, pid: started.pid ?? 0 };
}

async function load(args: string[]): Promise<Figures> {
  return JSON.parse(
    await firstLine(
      spawn(process.execPath, [path.join(import.meta.dirname, 'load.ts'), ...args], CONNECTED),
    ),
  ) as Figures;
}

async function firstLine(started: ChildProcess): Promise<string> {
  let text = '';
  for await (const bytes of started.stdout ?? []) {
    text += String(bytes);
    if (text.includes('\n')) return text.slice(0, text.indexOf('\n'));
  }
  throw new Error('a bench process ended without a word');
}

async function measure(pid: number, run: () => Promise<Figures>): Promise<Record<string, number>> {
  const before = cpuSeconds(pid);
  const startedAt = performance.now();
  const { requests, failures, p50Ms, p99Ms } = await run();
  const wallSeconds = (performance.now() - startedAt) / 1000;
  return {
    'requests/s': Math.round(requests / wallSeconds),
    'CPU us/request': Math.round(((cpuSeconds(pid) - before) * 1e6) / requests),
    'p50 ms': p50Ms,
    'p99 ms': p99Ms,
    failures,
  };
}

function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}
