import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { auditBooks } from '@tollgate/audit';
import {
  createCustomer,
  findFreePort,
  startTollgate,
  type Tollgate,
  letPass,
} from '@tollgate/harness';
import { z } from 'zod';
import { ChunkDelays, openPacedStream } from './paced-client.ts';
import { openFilesMax, readUse } from './process-use.ts';
import { readNumber, withDatabase } from './read-state.ts';
import { inSeconds, type Order, type Outcome } from './scenario.ts';
import { figuresOf, promisesOf, type Measured } from './stream-figures.ts';
import { createTarget } from '../create-target.ts';

const STREAMS = 1_000;
const SECONDS = 60;
const EVERY_MS = 1_000;
/** Is the number of streams that go to the upstream without a node, at the same time: what the machine itself adds. */
const DIRECT_STREAMS = 20;
const OPENED_AT_ONCE = 20;
const OPENED_EACH_SECOND = 200;
/** A node has two sockets a stream, and some for itself. */
const FILES_ELSE = 500;
const DRAIN_MS = 60_000;

const PRELOAD = path.join(import.meta.dirname, 'event-loop-delay.mjs');

/** Plays T12: so many streams at once through one node process, a chunk a second each. `--times` says how many; `--every-ms` sets another pace. */
export async function streams({
  times = STREAMS,
  seconds = SECONDS,
  everyMs = EVERY_MS,
  log,
}: Order): Promise<Outcome> {
  const count = Math.min(times, Math.floor((openFilesMax() - FILES_ELSE) / 2));
  if (count < times)
    log(
      `this machine lets a process open ${openFilesMax()} files: ${count} streams instead of ${times}`,
    );
  const loopFolder = mkdtempSync(path.join(tmpdir(), 'tollgate-event-loop-'));
  const env = {
    NODE_OPTIONS: `--import ${PRELOAD}`,
    EVENT_LOOP_DELAYS: loopFolder,
    CONCURRENCY_PER_SUBSCRIPTION_MAX: String(count + 1),
    UPSTREAM_ALLOW_PRIVATE: '127.0.0.0/8',
  };
  const tollgate = await startTollgate({ nodes: 1, env });
  const upstream = await startPacedUpstream(everyMs);
  try {
    const measured = await measure({
      tollgate,
      upstream,
      count,
      seconds,
      everyMs,
      loopFolder,
      log,
    });
    const findings = await auditBooks(tollgate, { drainMs: DRAIN_MS });
    const booked = await readNumber(
      tollgate.databaseUrl,
      `SELECT count(*) AS value FROM usage_events WHERE kind = 'usage' AND output_tokens = $1 AND basis = 'reported'`,
      [measured.tokens],
    );
    const outcomes = await readOutcomes(tollgate.databaseUrl);
    return {
      figures: [...figuresOf(count, measured), ['booked as', outcomes]],
      findings: [...promisesOf(count, measured, booked), ...findings],
    };
  } finally {
    upstream.stop();
    await tollgate.stop();
    rmSync(loopFolder, { recursive: true, force: true });
  }
}

/** Counts the requests that ended in each way, by the books; the most frequent way first. */
async function readOutcomes(databaseUrl: string): Promise<string> {
  const rows = await withDatabase(databaseUrl, async (database) => {
    const { rows: found } = await database.query(
      `SELECT outcome, count(*)::int AS requests FROM usage_events WHERE outcome IS NOT NULL GROUP BY 1 ORDER BY 2 DESC`,
    );
    return z.array(z.object({ outcome: z.string(), requests: z.number() })).parse(found);
  });
  return rows
    .map(({ outcome, requests }) => `${requests.toLocaleString('en')} ${outcome}`)
    .join(', ');
}

async function startPacedUpstream(everyMs: number): Promise<{ url: string; stop: () => void }> {
  const port = await findFreePort();
  const child = spawn(
    process.execPath,
    [path.join(import.meta.dirname, 'paced-upstream.ts'), String(port), String(everyMs)],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  await new Promise<void>((resolve, reject) => {
    child.stdout.once('data', () => resolve());
    child.once('exit', (code) => reject(new Error(`the paced upstream ended with ${code}`)));
  });
  return { url: `http://127.0.0.1:${port}`, stop: () => void child.kill('SIGKILL') };
}

interface Setting {
  tollgate: Tollgate;
  upstream: { url: string };
  count: number;
  seconds: number;
  everyMs: number;
  loopFolder: string;
  log: (line: string) => void;
}

async function measure({
  tollgate,
  upstream,
  count,
  seconds,
  everyMs,
  loopFolder,
  log,
}: Setting): Promise<Measured> {
  const { apiKey, model } = await pacedTarget(tollgate, upstream.url);
  const [origin = ''] = tollgate.nodeUrls;
  const pid = tollgate.pidOf('node-1') ?? 0;
  // The first streams make a node load what it needs; that is not theirs.
  await openPacedStream({ origin, apiKey, model, tokens: 2, delays: new ChunkDelays() }).ended;
  const rssBefore = readUse(pid).rssBytes;
  const startedAt = Date.now();
  const inTime = (lastingSeconds: number): number => Math.ceil((lastingSeconds * 1_000) / everyMs);
  const tokens = inTime(seconds + (2 * count) / OPENED_EACH_SECOND) + 5;
  const [via, direct] = [new ChunkDelays(), new ChunkDelays()];
  const opened = [];
  for (let index = 0; index < count; index += OPENED_AT_ONCE) {
    const some = Array.from({ length: Math.min(OPENED_AT_ONCE, count - index) }, () =>
      openPacedStream({ origin, apiKey, model, tokens, delays: via }),
    );
    opened.push(...some);
    await letPass((1_000 * OPENED_AT_ONCE) / OPENED_EACH_SECOND, 'streams open at a steady rate');
  }
  await Promise.all(opened.map(({ begun }) => begun));
  const openedInMs = Date.now() - startedAt;
  // On a slow machine the first have ended before the last begin.
  const openAtOnce = opened.filter(({ isOpen }) => isOpen()).length;
  log(`${openAtOnce} of ${count} streams are open after ${inSeconds(openedInMs)}`);
  const beside = Array.from({ length: DIRECT_STREAMS }, () =>
    openPacedStream({
      origin: upstream.url,
      apiKey,
      model,
      tokens: inTime(seconds),
      delays: direct,
    }),
  );
  via.restart();
  const open = readUse(pid);
  process.kill(pid, 'SIGUSR2');
  await letPass((seconds * 1_000) / 2, 'memory is read in the middle of the streams');
  const atPeak = readUse(pid);
  const streams = await Promise.all(opened.map(({ ended }) => ended));
  await Promise.all(beside.map(({ ended }) => ended));
  const delays = readLoopDelays(loopFolder, pid);
  return {
    streams,
    tokens,
    openedInMs,
    openAtOnce,
    via,
    direct,
    rssAtPeak: atPeak.rssBytes,
    rssPerStream: (atPeak.rssBytes - rssBefore) / count,
    processorShare: (atPeak.processorMs - open.processorMs) / ((seconds * 1_000) / 2),
    waitingShare: (atPeak.waitedMs - open.waitedMs) / ((seconds * 1_000) / 2),
    loopP99Ms: delays.at(-1)?.sinceSignalMs ?? Infinity,
    loopWorstMs: Math.max(...delays.map(({ mostMs }) => mostMs)),
  };
}

/** Reads one entry a second: the most since the last one, and the 99th percentile of all since the signal. */
function readLoopDelays(folder: string, pid: number): { mostMs: number; sinceSignalMs: number }[] {
  const lines = readFileSync(path.join(folder, String(pid)), 'utf8')
    .trim()
    .split('\n');
  return lines
    .map((line) => line.split(' ').map(Number))
    .map(([mostMs = 0, sinceSignalMs = 0]) => ({ mostMs, sinceSignalMs }));
}

async function pacedTarget(
  tollgate: Tollgate,
  upstreamUrl: string,
): Promise<{ apiKey: string; model: string }> {
  const { admin } = tollgate;
  const model_id = await admin.createModel({
    name: 'paced',
    kind: 'chat',
    price: { price_per_million: '1' },
    is_on_shelf: true,
  });
  const upstream_id = await admin.createUpstream({
    name: 'paced',
    protocol: 'openai',
    base_url: `${upstreamUrl}/v1`,
    api_key: 'paced-upstream-key',
  });
  await admin.createRoute({ model_id, upstream_id, upstream_model: 'paced' });
  const customer = await createCustomer(tollgate, { amount: '1000000' });
  const model = { id: model_id, name: 'paced' };
  return createTarget(tollgate, { model, customer, tokens: 100_000_000 });
}
