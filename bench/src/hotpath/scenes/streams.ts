import { setTimeout as delay } from 'node:timers/promises';
import type { BeatOrder, BeatReport } from '../beat-order.ts';
import { allowFiles, report } from '../bench-process.ts';
import { CpuClock, memoryMb } from '../cpu.ts';
import { NODE, startBare } from '../installation.ts';
import type { Scene, Subject } from './scene.ts';

const STREAMS_PER_SECOND = 300;
/** Limits the streams of one process of load: two of these sockets are still far from a core. */
const PROCESS_STREAMS = 3_000;
const SETTLE_MS = 5_000;
const WATCH_MS = 15_000;
const FILES_SPARE = 1_000;
const KB = 1_024;
/** A round of 9,000 takes two minutes. */
const ROUNDS_MAX = 3;

interface Target {
  pid: number;
  url: string;
  keys: readonly string[];
}

interface Seen {
  eventMicros: number;
  streamKb: number;
  lagP50Ms: number;
  lagP99Ms: number;
  events: number;
  dropped: Record<string, number>;
}

/** Opens many streams on one node, an event a second each, and measures what each event and each open stream costs beside the same streams through the bare proxy. */
export const streams: Scene = async (stage) => {
  const { subjects, yardstick, sizes } = stage;
  allowFiles(sizes.streams + FILES_SPARE, [yardstick.upstream.pid]);
  for (let round = 0; round < Math.min(stage.rounds, ROUNDS_MAX); round += 1) {
    const proxy = await startBare(yardstick.upstream.url);
    const bare = await watch({ ...proxy, keys: ['none'] }, sizes.streams);
    proxy.stop();
    for (const subject of subjects) await measure(subject, bare, sizes.streams);
  }
};

async function measure(
  { installation, figures }: Subject,
  bare: Seen,
  count: number,
): Promise<void> {
  await installation.restartNode({ CONCURRENCY_PER_SUBSCRIPTION_MAX: String(count) });
  const { nodeUrl: url, keys } = installation;
  const own = await watch({ pid: installation.pidOf(NODE), url, keys }, count);
  for (const [reason, dropped] of Object.entries(own.dropped))
    process.stderr.write(`  dropped ${dropped}: ${reason}\n`);
  const dropped = Object.values(own.dropped).reduce((sum, one) => sum + one, 0);
  const add = (name: string, unit: string, sample: number): void =>
    figures.add(`${count.toLocaleString('en')} streams, an event a second: ${name}`, unit, sample);
  add('dropped', 'streams', dropped);
  add('events seen', 'a second', (own.events * 1_000) / WATCH_MS);
  add('memory of the bare proxy', 'KB a stream', bare.streamKb);
  add('memory of the node beyond it', 'KB a stream', own.streamKb - bare.streamKb);
  add('CPU of the bare proxy', 'us an event', bare.eventMicros);
  add('CPU of the node', 'us an event', own.eventMicros);
  add('lag of an event, bare proxy, p50', 'ms', bare.lagP50Ms);
  add('lag of an event, bare proxy, p99', 'ms', bare.lagP99Ms);
  add('lag of an event, node, p50', 'ms', own.lagP50Ms);
  add('lag of an event, node, p99', 'ms', own.lagP99Ms);
  await installation.restartNode({ CONCURRENCY_PER_SUBSCRIPTION_MAX: undefined });
  await installation.audit();
}

async function watch({ pid, url, keys }: Target, count: number): Promise<Seen> {
  // Each stream has a socket to the client and one to the upstream.
  allowFiles(2 * count + FILES_SPARE, [pid]);
  const before = memoryMb(pid);
  const rampMs = (count / STREAMS_PER_SECOND) * 1_000;
  const fromMs = Date.now() + rampMs + SETTLE_MS;
  const untilMs = fromMs + WATCH_MS;
  const beats = Math.ceil((rampMs + 2 * SETTLE_MS + WATCH_MS) / 1_000);
  const processes = Math.ceil(count / PROCESS_STREAMS);
  const running = Array.from({ length: processes }, (_, index) => {
    const own =
      Math.floor(((index + 1) * count) / processes) - Math.floor((index * count) / processes);
    const order: BeatOrder = { url, keys, streams: own, rampMs, beats, fromMs, untilMs };
    return report<BeatReport>('beats.ts', order);
  });
  await delay(fromMs - Date.now());
  const clock = new CpuClock(pid);
  await delay(untilMs - Date.now());
  const micros = clock.lap();
  const streamKb = ((memoryMb(pid) - before) * KB) / count;
  return { ...summary(await Promise.all(running), micros), streamKb };
}

function summary(reports: readonly BeatReport[], micros: number): Omit<Seen, 'streamKb'> {
  const events = reports.reduce((sum, one) => sum + one.events, 0);
  const lags = (reports[0] as BeatReport).lags.map((_, ms) =>
    reports.reduce((sum, one) => sum + (one.lags[ms] ?? 0), 0),
  );
  const dropped: Record<string, number> = {};
  for (const one of reports)
    for (const [reason, count] of Object.entries(one.dropped))
      dropped[reason] = (dropped[reason] ?? 0) + count;
  const [lagP50Ms, lagP99Ms] = [0.5, 0.99].map((share) => lagAt(lags, events * share));
  return {
    events,
    dropped,
    eventMicros: micros / events,
    lagP50Ms: lagP50Ms ?? 0,
    lagP99Ms: lagP99Ms ?? 0,
  };
}

/** Returns the lag below which so many events are. */
function lagAt(lags: readonly number[], rank: number): number {
  let seen = 0;
  const at = lags.findIndex((count) => (seen += count) >= rank);
  return at === -1 ? lags.length : at;
}
