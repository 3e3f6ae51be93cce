import type { Redis } from 'ioredis';
import { load, type Helper } from '../bench-process.ts';
import { sumOf } from '../figures.ts';
import { startFloor } from '../floor.ts';
import { startBare } from '../installation.ts';
import { CpuClock } from '../cpu.ts';
import type { LoadOrder } from '../load-order.ts';
import { forEachSubject, type Scene, type Stage, type Subject } from './scene.ts';

type Kind = Partial<LoadOrder> & { name: string; seconds: number };

const KINDS: readonly Kind[] = [
  { name: 'JSON', seconds: 3 },
  { name: 'stream in one write', isStream: true, seconds: 3 },
  { name: 'stream event by event', isStream: true, model: 'bench-events', seconds: 5 },
];
const BODIES: readonly Kind[] = [
  { name: 'JSON of 100 KB', promptBytes: 100_000, connections: 8, seconds: 3 },
  { name: 'JSON of 1 MB', promptBytes: 1_000_000, connections: 4, seconds: 3 },
];
const BARE_SECONDS = 2;
const FLOOR_WARM_UP_SECONDS = 6;
const COLD_REQUESTS = 1_000;
const COLD_ROUNDS = 3;

/** Measures the CPU a request of a warm node, of Redis, and of all processes until PostgreSQL has it, beside the bare proxy in the same round. */
export const requests: Scene = (stage) => inRounds(stage, KINDS);

/** Measures one kind alone, for a change that is tried. */
export const json: Scene = (stage) => inRounds(stage, KINDS.slice(0, 1));
export const stream: Scene = (stage) => inRounds(stage, KINDS.slice(1, 2));

/** Measures the same for large prompts. */
export const bodies: Scene = (stage) => inRounds(stage, BODIES);

const AT_LOW_RATE: Kind = { name: '100 JSON a second', perSecond: 100, connections: 8, seconds: 6 };

/** Measures the same, and JSON at a low rate. */
export const floor: Scene = (stage) => inRounds(stage, [...KINDS, AT_LOW_RATE]);

/** Each round measures the bare proxy and the floor, which has the books of the first build, beside the builds. */
async function inRounds(stage: Stage, kinds: readonly Kind[]): Promise<void> {
  const [first] = stage.subjects;
  if (!first) return;
  const floorProxy = await startFloor(first.installation, stage.yardstick.upstream.url);
  await load({
    url: floorProxy.url,
    keys: first.installation.keys,
    seconds: FLOOR_WARM_UP_SECONDS,
  });
  for (let round = 0; round < stage.rounds; round += 1)
    for (const kind of kinds) {
      const bareMicros = await measureBare(stage, kind);
      await measureFloor({ stage, floorProxy, first }, { kind, bareMicros });
      await forEachSubject(stage, (subject) => measure(subject, kind, bareMicros));
    }
  floorProxy.stop();
}

async function measureFloor(
  { stage, floorProxy, first }: { stage: Stage; floorProxy: Helper; first: Subject },
  { kind, bareMicros }: { kind: Kind; bareMicros: number },
): Promise<void> {
  const clock = new CpuClock(floorProxy.pid);
  const { keys } = first.installation;
  const { requests: done, refused } = await load({ ...kind, url: floorProxy.url, keys });
  if (sumOf(refused) > 0) throw new Error(`the floor refused ${JSON.stringify(refused)}`);
  const micros = clock.lap() / done;
  for (const { figures } of stage.subjects) {
    figures.add(`${kind.name}: floor, CPU a request`, 'us', micros);
    figures.add(`${kind.name}: floor`, 'x bare', micros / bareMicros);
  }
  // The usage that the node relays here must not be counted as the node's.
  await first.installation.audit();
}

async function measureBare({ yardstick, subjects }: Stage, kind: Kind): Promise<number> {
  const clock = new CpuClock(yardstick.bare.pid);
  const seconds = kind.model === 'bench-events' ? kind.seconds : BARE_SECONDS;
  const { requests: done } = await load({
    ...kind,
    seconds,
    url: yardstick.bare.url,
    keys: ['none'],
  });
  const micros = clock.lap() / done;
  for (const { figures } of subjects)
    figures.add(`${kind.name}: bare proxy, CPU a request`, 'us', micros);
  return micros;
}

async function measure(
  { installation, figures }: Subject,
  kind: Kind,
  bareMicros: number,
): Promise<void> {
  const node = installation.clock('node-1');
  const redis = installation.clock('redis');
  const all = installation.clockOfAll();
  const calls = await callsOf(installation.redis);
  const report = await installation.load(kind);
  const micros = node.lap() / report.requests;
  figures.addRatio(`${kind.name}: node`, micros / bareMicros);
  figures.add(`${kind.name}: node, CPU a request`, 'us', micros);
  // The rest of the work comes after the answer: it is waited for, so that nothing is left out.
  await installation.audit();
  figures.addRatio(`${kind.name}: all processes`, all.lap() / report.requests / bareMicros);
  figures.add(`${kind.name}: Redis, CPU a request`, 'us', redis.lap() / report.requests);
  const sent = (await callsOf(installation.redis)) - calls;
  figures.add(`${kind.name}: calls of Redis`, 'a request', sent / report.requests);
  figures.add(`${kind.name}: refused`, '%', (sumOf(report.refused) / report.requests) * 100);
}

/** Measures node and bare proxy right after their start, every time with fresh processes. */
export const cold: Scene = async ({ subjects, yardstick }) => {
  const kind = { requestsMax: COLD_REQUESTS, seconds: 60 };
  for (let round = 0; round < COLD_ROUNDS; round += 1) {
    const fresh = await startBare(yardstick.upstream.url);
    const clock = new CpuClock(fresh.pid);
    await load({ ...kind, url: fresh.url, keys: ['none'] });
    const bareMicros = clock.lap() / COLD_REQUESTS;
    fresh.stop();
    for (const { installation, figures } of subjects) {
      await installation.restartNode();
      const node = installation.clock('node-1');
      await installation.load(kind);
      const micros = node.lap() / COLD_REQUESTS;
      figures.addRatio('JSON, first 1,000 requests: node', micros / bareMicros);
      figures.add('JSON, first 1,000 requests: node, CPU a request', 'us', micros);
    }
  }
};

const CROWD = { connections: 256, seconds: 5 };

/** Equals the connections that one subscription may have requests running. */
export const crowd: Scene = async ({ subjects, rounds }) => {
  for (let round = 0; round < rounds; round += 1)
    for (const { installation, figures } of subjects) {
      const keys = installation.keys.slice(0, 1);
      const { requests: done, refused } = await installation.load({ ...CROWD, keys });
      figures.add(
        '256 connections of one subscription: refused',
        '%',
        (sumOf(refused) / done) * 100,
      );
    }
};

/** Measures the cost that the front door adds, for JSON and streams. */
export const door: Scene = async (stage) => {
  for (let round = 0; round < stage.rounds; round += 1)
    for (const kind of KINDS.slice(0, 2)) {
      const bareMicros = await measureBare(stage, kind);
      for (const { installation, figures } of stage.subjects) {
        const clock = installation.clock('front-door');
        const done = await load({
          ...kind,
          url: installation.frontDoorUrl,
          keys: installation.keys,
        });
        const micros = clock.lap() / done.requests;
        figures.addRatio(`${kind.name}: front door`, micros / bareMicros);
        figures.add(`${kind.name}: front door, CPU a request`, 'us', micros);
      }
    }
};

/** Counts the commands that Redis ran, those inside functions and scripts included. */
async function callsOf(redis: Redis): Promise<number> {
  const text = await redis.info('stats');
  return Number(/total_commands_processed:(\d+)/.exec(text)?.[1] ?? 0);
}
