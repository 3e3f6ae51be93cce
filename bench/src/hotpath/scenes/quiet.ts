import { setTimeout as delay } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { load } from '../bench-process.ts';
import { CpuClock, memoryMb } from '../cpu.ts';
import { NODE } from '../installation.ts';
import { withDatabase } from './database.ts';
import { forEachSubject, type Scene, type Subject } from './scene.ts';

const SETTLE_MS = 3_000;
const IDLE_SECONDS = 15;
const WATCH_SECONDS = 10;
const TOP_COMMANDS = 12;
const PER_SECOND = 100;
const STREAMS_PER_SECOND = 50;
const LOW_SECONDS = 8;
const LOW_ROUNDS = 3;
const PROCESSES = [NODE, 'control-plane', 'front-door', 'redis', 'postgres'];

/** Measures an installation that has nothing to do: what it costs, and what it occupies. */
export const idle: Scene = async (stage) => {
  await delay(SETTLE_MS);
  for (let round = 0; round < stage.rounds; round += 1)
    await forEachSubject(stage, async ({ installation, figures }) => {
      const clocks = PROCESSES.map((name) => ({ name, clock: installation.clock(name) }));
      await delay(IDLE_SECONDS * 1_000);
      for (const { name, clock } of clocks)
        figures.add(`idle: CPU of ${name}`, '% of a core', clock.lap() / IDLE_SECONDS / 10_000);
    });
  // The commands are counted after the CPU, as watching costs Redis some.
  await forEachSubject(stage, async ({ installation, figures }) => {
    figures.add(
      'idle: commands sent to Redis',
      'a second',
      (await commandsSent(installation.redis)) / WATCH_SECONDS,
    );
    for (const name of PROCESSES)
      figures.add(`memory of ${name}`, 'MB', memoryMb(installation.pidOf(name)));
  });
};

/** Counts commands without those that functions and scripts run inside Redis. */
async function commandsSent(redis: Redis): Promise<number> {
  const watcher = await redis.monitor();
  let sent = 0;
  const byName = new Map<string, number>();
  watcher.on('monitor', (_time: string, args: string[], source: string) => {
    if (source === 'lua') return;
    sent += 1;
    const name = `${args[0]} ${args[1]?.replace(/_[0-9a-f]+$/, '') ?? ''}`.replace(/s\d+/, 'sNN');
    byName.set(name, (byName.get(name) ?? 0) + 1);
  });
  await delay(WATCH_SECONDS * 1_000);
  watcher.disconnect();
  const top = [...byName].sort(([, a], [, b]) => b - a).slice(0, TOP_COMMANDS);
  for (const [name, count] of top)
    process.stderr.write(`  ${(count / WATCH_SECONDS).toFixed(1)}/s ${name}\n`);
  return sent;
}

/** Measures the CPU of all processes at a low rate, where nothing comes in batches by itself. */
export const quiet: Scene = async (stage) => {
  const { subjects, yardstick } = stage;
  for (let round = 0; round < LOW_ROUNDS; round += 1) {
    // Measures the cost of the same wake-ups for a proxy that does nothing else.
    const clock = new CpuClock(yardstick.bare.pid);
    const bare = await load({
      url: yardstick.bare.url,
      keys: ['none'],
      perSecond: PER_SECOND,
      connections: 8,
      seconds: LOW_SECONDS,
    });
    const micros = clock.lap() / bare.requests;
    for (const { figures } of subjects)
      figures.add('100 JSON a second: CPU of the bare proxy a request', 'us', micros);
    await forEachSubject(stage, async (subject) => {
      await low(subject, { name: '100 JSON a second', isStream: false, perSecond: PER_SECOND });
      await low(subject, {
        name: '50 streams a second',
        isStream: true,
        perSecond: STREAMS_PER_SECOND,
      });
    });
  }
};

async function low(
  { installation, figures }: Subject,
  order: { name: string; isStream: boolean; perSecond: number },
): Promise<void> {
  const clocks = [NODE, 'control-plane', 'redis', 'postgres'].map((name) => ({
    name,
    clock: installation.clock(name),
  }));
  const done = await installation.load({ ...order, connections: 8, seconds: LOW_SECONDS });
  let sum = 0;
  for (const { name, clock } of clocks) {
    const micros = clock.lap() / done.requests;
    sum += micros;
    figures.add(`${order.name}: CPU of ${name} a request`, 'us', micros);
  }
  figures.add(`${order.name}: CPU of all processes a request`, 'us', sum);
}

const STEADY_RATES = [200, 1_000];
const STEADY_SECONDS = 10;
const BOOKERS = ['control-plane', 'postgres'];

/** Measures what booking costs while requests come at a steady rate, and how long after its end a request is in the ledger. */
export const steady: Scene = async (stage) => {
  for (let round = 0; round < stage.rounds; round += 1)
    for (const perSecond of STEADY_RATES)
      await forEachSubject(stage, (subject) => steadily(subject, perSecond));
};

async function steadily({ installation, figures }: Subject, perSecond: number): Promise<void> {
  const name = `${perSecond.toLocaleString('en')} a second`;
  const order = { perSecond, connections: 32 };
  await installation.load({ ...order, seconds: 1 });
  const clocks = BOOKERS.map((process) => ({ process, clock: installation.clock(process) }));
  const all = installation.clockOfAll();
  const { requests } = await installation.load({ ...order, seconds: STEADY_SECONDS });
  let sum = 0;
  for (const { process, clock } of clocks) {
    const micros = clock.lap() / requests;
    sum += micros;
    figures.add(`${name}: CPU of ${process}`, 'us a record', micros);
  }
  figures.add(`${name}: CPU of both`, 'us a record', sum);
  figures.add(`${name}: CPU of all processes`, 'us a record', all.lap() / requests);
  await delay(SETTLE_MS);
  const [p50, p99] = await withDatabase(installation, async (database) => {
    const { rows } = await database.query<{ lag: number[] }>(
      `SELECT percentile_cont(ARRAY[0.5, 0.99]) WITHIN GROUP (ORDER BY extract(epoch FROM created_at - started_at) * 1000 - duration_ms) AS lag
       FROM usage_events WHERE started_at > now() - make_interval(secs => $1)`,
      [STEADY_SECONDS + SETTLE_MS / 1_000],
    );
    return rows[0]?.lag ?? [];
  });
  figures.add(`${name}: booked after the request's end, p50`, 'ms', p50 ?? 0);
  figures.add(`${name}: booked after the request's end, p99`, 'ms', p99 ?? 0);
}

const BURST = 150;
const ONE_SUBSCRIPTION = 256;

/** Opens many at once: measures when each gets its first token, and whether a caller is refused who has no more open than it may have. */
export const burst: Scene = async ({ subjects, yardstick, rounds }) => {
  const order = {
    model: 'bench-slow',
    isStream: true,
    connections: BURST,
    requestsMax: BURST,
    seconds: 30,
  };
  for (let round = 0; round < rounds; round += 1) {
    const direct = await load({ ...order, url: yardstick.upstream.url, keys: ['none'] });
    for (const { installation, figures } of subjects) {
      const own = await installation.load(order);
      figures.add(
        'burst of 150 streams: first token beyond direct, p50',
        'ms',
        own.firstP50Ms - direct.firstP50Ms,
      );
      figures.add(
        'burst of 150 streams: first token beyond direct, p99',
        'ms',
        own.firstP99Ms - direct.firstP99Ms,
      );
      const crowd = await installation.load({
        keys: installation.keys.slice(0, 1),
        connections: ONE_SUBSCRIPTION,
        seconds: 3,
      });
      const refused = Object.values(crowd.refused).reduce((sum, count) => sum + count, 0);
      figures.add(
        '256 connections of one subscription: refused',
        '%',
        (refused / crowd.requests) * 100,
      );
      await installation.audit();
    }
  }
};

const RATES = [500, 1_000];
const WINDOW_SECONDS = 4;
const WINDOWS = 9;

/** Measures latency at a steady rate beside the bare proxy. It is reported and never judged: it depends on what else the machine does. */
export const latency: Scene = async ({ subjects, yardstick }) => {
  for (const perSecond of RATES) {
    const order = { perSecond, connections: 32, seconds: WINDOW_SECONDS };
    const name = `${perSecond} a second: added latency`;
    for (let window = 0; window < WINDOWS; window += 1) {
      const bare = await load({ ...order, url: yardstick.bare.url, keys: ['none'] });
      for (const { installation, figures } of subjects) {
        const own = await installation.load(order);
        figures.add(`${name}, p50`, 'ms', own.p50Ms - bare.p50Ms);
        figures.add(`${name}, p99`, 'ms', own.p99Ms - bare.p99Ms);
      }
    }
  }
};
