import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { auditBooks, type Finding } from '@tollgate/audit';
import {
  createCustomer,
  findFreePort,
  startTollgate,
  subscribeWithKey,
  type Tollgate,
} from '@tollgate/harness';
import { ChunkDelays, openPacedStream, type PacedStream } from './paced-client.ts';
import { inMegabytes, openFilesMax, readUse } from './process-use.ts';
import { readNumber } from './read-state.ts';
import {
  inSeconds,
  notJudged,
  promised,
  promisedOfTime,
  type Order,
  type Outcome,
} from './scenario.ts';

const STREAMS = 1_000;
const SECONDS = 60;
/** Streams that go to the upstream without a node, at the same time: what the machine itself adds. */
const DIRECT_STREAMS = 20;
const OPENED_AT_ONCE = 20;
const OPENED_EACH_SECOND = 200;
/** A node has two sockets a stream, and some for itself. */
const FILES_ELSE = 500;
const DRAIN_MS = 60_000;
const ADDED_P99_MAX_MS = 20;
const LOOP_P99_MAX_MS = 50;
const RSS_PER_STREAM_MAX = 150 * 1_024;
/** A node's own heap grows by some 30 MB under any load: among fewer streams it is most of what each seems to take. */
const MEMORY_JUDGED_FROM_STREAMS = 1_000;
const PRELOAD = path.join(import.meta.dirname, 'event-loop-delay.mjs');

interface Measured {
  streams: PacedStream[];
  tokens: number;
  openedInMs: number;
  via: ChunkDelays;
  direct: ChunkDelays;
  rssPerStream: number;
  rssAtPeak: number;
  /** Of one histogram, from the moment all were open. */
  loopP99Ms: number;
  /** The highest p99 of a second, those too in which streams were opened. */
  loopWorstMs: number;
  /** Of one core, while all were open. */
  processorShare: number;
  /** Of the time, ready to run while others had the cores: what a busy machine adds. */
  waitingShare: number;
}

/** T12: so many streams at once through one node process, a chunk a second each. `--times`: how many. */
export async function streams({
  times = STREAMS,
  seconds = SECONDS,
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
  const upstream = await startPacedUpstream();
  try {
    const measured = await measure({ tollgate, upstream, count, seconds, loopFolder, log });
    const findings = await auditBooks(tollgate, { drainMs: DRAIN_MS });
    const booked = await readNumber(
      tollgate.databaseUrl,
      `SELECT count(*) AS value FROM usage_events WHERE kind = 'usage' AND output_tokens = $1 AND basis = 'reported'`,
      [measured.tokens],
    );
    return {
      figures: figuresOf(count, measured),
      findings: [...promisesOf(count, measured, booked), ...findings],
    };
  } finally {
    upstream.stop();
    await tollgate.stop();
    rmSync(loopFolder, { recursive: true, force: true });
  }
}

async function startPacedUpstream(): Promise<{ url: string; stop: () => void }> {
  const port = await findFreePort();
  const child = spawn(
    process.execPath,
    [path.join(import.meta.dirname, 'paced-upstream.ts'), String(port)],
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
  loopFolder: string;
  log: (line: string) => void;
}

async function measure({
  tollgate,
  upstream,
  count,
  seconds,
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
  const tokens = seconds + Math.ceil((2 * count) / OPENED_EACH_SECOND) + 5;
  const [via, direct] = [new ChunkDelays(), new ChunkDelays()];
  const opened = [];
  for (let index = 0; index < count; index += OPENED_AT_ONCE) {
    const some = Array.from({ length: Math.min(OPENED_AT_ONCE, count - index) }, () =>
      openPacedStream({ origin, apiKey, model, tokens, delays: via }),
    );
    opened.push(...some);
    await delay((1_000 * OPENED_AT_ONCE) / OPENED_EACH_SECOND);
  }
  await Promise.all(opened.map(({ begun }) => begun));
  const openedInMs = Date.now() - startedAt;
  log(`${count} streams are open after ${inSeconds(openedInMs)}`);
  const beside = Array.from({ length: DIRECT_STREAMS }, () =>
    openPacedStream({ origin: upstream.url, apiKey, model, tokens: seconds, delays: direct }),
  );
  via.restart();
  const open = readUse(pid);
  process.kill(pid, 'SIGUSR2');
  await delay((seconds * 1_000) / 2);
  const atPeak = readUse(pid);
  const streams = await Promise.all(opened.map(({ ended }) => ended));
  await Promise.all(beside.map(({ ended }) => ended));
  const delays = readLoopDelays(loopFolder, pid);
  return {
    streams,
    tokens,
    openedInMs,
    via,
    direct,
    rssAtPeak: atPeak.rssBytes,
    rssPerStream: (atPeak.rssBytes - rssBefore) / count,
    processorShare: (atPeak.processorMs - open.processorMs) / ((seconds * 1_000) / 2),
    waitingShare: (atPeak.waitedMs - open.waitedMs) / ((seconds * 1_000) / 2),
    loopP99Ms: delays.at(-1)?.sinceSignalMs ?? Infinity,
    loopWorstMs: Math.max(...delays.map(({ secondMs }) => secondMs)),
  };
}

/** One entry a second: the 99th percentile of that second, and of all since the signal. */
function readLoopDelays(
  folder: string,
  pid: number,
): { secondMs: number; sinceSignalMs: number }[] {
  const lines = readFileSync(path.join(folder, String(pid)), 'utf8')
    .trim()
    .split('\n');
  return lines
    .map((line) => line.split(' ').map(Number))
    .map(([secondMs = 0, sinceSignalMs = 0]) => ({ secondMs, sinceSignalMs }));
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
  const apiKey = await subscribeWithKey(await createCustomer(tollgate, { amount: '1000000' }), {
    modelIds: [model_id],
    tokens: 100_000_000,
  });
  await admin.syncAll();
  return { apiKey, model: 'paced' };
}

function figuresOf(
  count: number,
  {
    streams,
    tokens,
    openedInMs,
    via,
    direct,
    rssPerStream,
    rssAtPeak,
    loopP99Ms,
    loopWorstMs,
    processorShare,
    waitingShare,
  }: Measured,
): [string, string][] {
  const ms = (value: number): string => `${value.toFixed(1)} ms`;
  return [
    [
      'streams at once',
      `${count.toLocaleString('en')}, ${tokens} chunks each, opened in ${inSeconds(openedInMs)}`,
    ],
    ['whole', streams.filter(({ isWhole }) => isWhole).length.toLocaleString('en')],
    [
      'chunk delay by node',
      `p50 ${ms(via.at(0.5))}, p99 ${ms(via.at(0.99))} (${via.count.toLocaleString('en')} chunks)`,
    ],
    [
      'chunk delay without',
      `p50 ${ms(direct.at(0.5))}, p99 ${ms(direct.at(0.99))} (${direct.count.toLocaleString('en')} chunks)`,
    ],
    ['added', `p50 ${ms(via.at(0.5) - direct.at(0.5))}, p99 ${ms(via.at(0.99) - direct.at(0.99))}`],
    [
      'memory of the node',
      `${inMegabytes(rssAtPeak)}, ${(rssPerStream / 1_024).toFixed(0)} KB a stream`,
    ],
    [
      'processor of the node',
      `${Math.round(100 * processorShare)} % of a core, ${Math.round(100 * waitingShare)} % of the time waiting for one`,
    ],
    [
      'event loop',
      `p99 ${ms(loopP99Ms)} late, ${ms(loopWorstMs)} in the worst second, those too in which streams were opened`,
    ],
  ];
}

function promisesOf(
  count: number,
  { streams, tokens, via, direct, rssPerStream, loopP99Ms, waitingShare }: Measured,
  booked: number,
): Finding[] {
  const broken = streams.filter((stream) => !stream.isWhole || stream.tokens < tokens);
  const judge = (isKept: boolean, found: string): { compared: number; problems: string[] } => ({
    compared: count,
    problems: isKept ? [] : [found],
  });
  const added = via.at(0.99) - direct.at(0.99);
  return [
    promised('dropped', 'every stream arrives whole', {
      compared: count,
      problems: broken.map(
        ({ status, failure, tokens: arrived }) =>
          `status ${status}, ${failure ?? 'no error'}, ${arrived} tokens`,
      ),
    }),
    promised(
      'booked',
      'every stream is charged what the upstream reported',
      judge(booked === count, `${booked} of ${count}`),
    ),
    promisedOfTime(
      'added delay',
      `p99 <= ${ADDED_P99_MAX_MS} ms a chunk`,
      waitingShare,
      judge(added <= ADDED_P99_MAX_MS, `${added.toFixed(1)} ms`),
    ),
    memory(count, rssPerStream),
    promisedOfTime(
      'event loop',
      `p99 <= ${LOOP_P99_MAX_MS} ms late`,
      waitingShare,
      judge(loopP99Ms <= LOOP_P99_MAX_MS, `${loopP99Ms.toFixed(1)} ms`),
    ),
  ];
}

function memory(count: number, rssPerStream: number): Finding {
  const [name, promise] = ['memory', `<= ${RSS_PER_STREAM_MAX / 1_024} KB a stream`] as const;
  if (count < MEMORY_JUDGED_FROM_STREAMS)
    return notJudged(
      name,
      promise,
      `fewer than ${MEMORY_JUDGED_FROM_STREAMS.toLocaleString('en')} streams say little beside the node's own heap`,
    );
  return promised(name, promise, {
    compared: count,
    problems: rssPerStream > RSS_PER_STREAM_MAX ? [`${(rssPerStream / 1_024).toFixed(0)} KB`] : [],
  });
}
