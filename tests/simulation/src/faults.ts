import { Violation } from './violation.ts';
import type { Fault } from './fault-plan.ts';
import { finalsOn } from './finals-on-disk.ts';
import { forge } from './forge.ts';
import type { Link } from './link.ts';
import type { World } from './world.ts';

/** Limits what a power loss may cost: a tick between two syncs, and the sync itself. */
const SYNCED_WITHIN_MS = 250;
const LOSING_EVERY_MS = 10;
const SYNCED_EVERY_MS = 1_000;

type Strike = (world: World, fault: Fault) => void;

function later(world: World, ms: number, act: () => void): void {
  world.scheduler.after(ms, 'fault ends', act);
}

function cut(world: World, link: Link | undefined, forMs: number): void {
  link?.cut();
  later(world, forMs, () => link?.heal());
}

function linksToRedis(world: World): Link[] {
  const links = world.nodes.flatMap((node) => node?.link ?? []);
  return [...links, ...world.controlPlanes.flatMap((one) => one?.redisLink ?? [])];
}

const slowDown: Strike = (world, { target, forMs }) => {
  const links = [
    ...linksToRedis(world),
    ...world.controlPlanes.flatMap((one) => one?.postgresLink ?? []),
  ];
  const link = links[target % links.length];
  if (!link) return;
  link.isSlow = true;
  later(world, forMs, () => void (link.isSlow = false));
};

/** Stops a process for a moment, as a paused machine would. */
const stall: Strike = (world, { target, forMs }) => {
  const processes = [...world.nodes, ...world.controlPlanes].flatMap((one) => one?.process ?? []);
  processes[target % processes.length]?.stall(forMs);
};

function killNode(world: World, index: number, forMs: number): void {
  const node = world.nodes[index];
  if (!node) return;
  world.held.add(index);
  node.kill();
  later(world, forMs, () => {
    world.held.delete(index);
    if (!world.nodes[index]) world.startNode(index);
  });
}

/** Returns requests of a machine whose finals can no longer be read from its disk. */
function lostFinals(world: World, machine: number): Set<string> {
  const { disk } = world.machines[machine] ?? {};
  const kept = new Set(disk && finalsOn(disk));
  const addresses = world.addressesOn(machine);
  const ended = [...world.truth.requests].filter(
    ([, request]) => request.charge !== null && addresses.includes(request.node),
  );
  return new Set(ended.map(([rid]) => rid).filter((rid) => !kept.has(rid)));
}

function excuse(world: World, rids: Iterable<string>, reason: string): void {
  for (const rid of rids) {
    const request = world.truth.requests.get(rid);
    if (request) request.excuse ??= reason;
  }
}

const losePower: Strike = (world, { target, forMs }) => {
  const machine = target % world.machines.length;
  const { disk } = world.machines[machine] ?? {};
  if (!disk) return;
  const before = lostFinals(world, machine);
  for (const index of world.workersOn(machine)) killNode(world, index, forMs);
  disk.losePower();
  const lost = [...lostFinals(world, machine)].filter((rid) => !before.has(rid));
  if (!disk.hasLied && !disk.hasFailed)
    for (const rid of lost) {
      const request = world.truth.requests.get(rid);
      const ageMs = world.scheduler.nowMs - (request?.endedAtMs ?? 0);
      if (request?.hasClientSeenEnd && ageMs > SYNCED_WITHIN_MS)
        throw new Violation(`${rid} ended ${ageMs} ms before the power loss and was not on disk`);
    }
  excuse(world, lost, 'power loss');
};

/** The machine comes back with an empty disk: what only its journals knew is lost, and its requests are reaped. */
const loseDisk: Strike = (world, { target, forMs }) => {
  const machine = target % world.machines.length;
  const { disk } = world.machines[machine] ?? {};
  if (!disk) return;
  const before = lostFinals(world, machine);
  for (const index of world.workersOn(machine)) killNode(world, index, forMs);
  disk.files.clear();
  const lost = [...lostFinals(world, machine)].filter((rid) => !before.has(rid));
  excuse(world, lost, 'lost disk');
  for (const [rid, struck] of world.damaged) if (struck === machine) world.damaged.delete(rid);
};

/** Strikes while its node is down, so that the next start reads it. */
const damage: Strike = (world, { target, forMs }) => {
  const index = target % world.nodes.length;
  const node = world.nodes[index];
  const machine = world.machines.findIndex((_, at) => world.workersOn(at).includes(index));
  if (!node) return;
  const before = lostFinals(world, machine);
  killNode(world, index, forMs);
  const [name, worker] = node.address.split(':');
  world.machines[machine]?.disk.damage(`/data/journals/${name}.${worker}`);
  const lost = [...lostFinals(world, machine)].filter((rid) => !before.has(rid));
  excuse(world, lost, 'damaged journal');
  for (const rid of lost) world.damaged.set(rid, machine);
};

/** Drops like the retention, at the earliest day that may go. */
const dropDays: Strike = (world) => {
  const today = new Date(world.scheduler.nowMs).toISOString().slice(0, 10);
  if (today === new Date(world.startMs).toISOString().slice(0, 10)) return;
  void world.someControlPlane?.dropDays(today).catch(() => undefined);
};

/** Makes the queue lose what it is given while it lasts: its server fails over, or another program deletes keys. */
const loseJobs: Strike = (world, { forMs }) => {
  const endMs = world.scheduler.nowMs + forMs;
  const lose = (): void => {
    world.redis.loseJobs();
    if (world.scheduler.nowMs < endMs) later(world, LOSING_EVERY_MS, lose);
  };
  lose();
};

const disk =
  (set: (disk: World['machines'][number]['disk'], isOn: boolean) => void): Strike =>
  (world, { target, forMs }) => {
    const struck = world.machines[target % world.machines.length]?.disk;
    if (!struck) return;
    set(struck, true);
    later(world, forMs, () => set(struck, false));
  };

function stopRedis(world: World, forMs: number, lose: () => void): void {
  const { redis } = world;
  if (!redis.isUp) return;
  redis.isUp = false;
  for (const link of linksToRedis(world)) link.serverLost();
  lose();
  later(world, forMs, () => {
    redis.isUp = true;
    for (const link of linksToRedis(world)) link.connect();
  });
}

/** Loses some of what it wrote in its last second, as with a file that is synced once a second; from the struck call on where it strikes after one. */
const crashRedis: Strike = (world, { forMs, size, afterCall }) => {
  const { redis } = world;
  const isFromCall = afterCall !== undefined && afterCall.lagMs < SYNCED_EVERY_MS;
  const lost = isFromCall
    ? redis.callsWithin(afterCall.lagMs)
    : Math.floor(redis.callsWithin(SYNCED_EVERY_MS) * size);
  stopRedis(world, forMs, () => redis.loseTail(lost));
};

const killControlPlane: Strike = (world, { target, forMs }) => {
  const index = target % world.controlPlanes.length;
  const struck = world.controlPlanes[index];
  if (!struck) return;
  struck.kill();
  world.controlPlanes[index] = null;
  later(world, forMs, () => world.startControlPlane(index));
};

const cutControlPlane =
  (store: 'redisLink' | 'postgresLink'): Strike =>
  (world, { target, forMs }) =>
    cut(world, world.controlPlanes[target % world.controlPlanes.length]?.[store], forMs);

const crashPostgres: Strike = (world, { forMs }) => {
  if (!world.postgres.isUp) return;
  world.postgres.crash();
  const links = (): Link[] => world.controlPlanes.flatMap((one) => one?.postgresLink ?? []);
  for (const link of links()) link.serverLost();
  later(world, forMs, () => {
    world.postgres.isUp = true;
    for (const link of links()) link.connect();
  });
};

/** Returns a jump forward or back, by seconds, three minutes or up to an hour. */
function jumpOf(size: number): number {
  const limitMs = size < 0.5 ? 3_600_000 : 180_000;
  return Math.round((size % 0.5 < 0.25 ? -1 : 1) * limitMs * size);
}

const jumpOfRedis: Strike = (world, { forMs, size }) => {
  world.redis.clockErrorMs = jumpOf(size);
  later(world, forMs, () => void (world.redis.clockErrorMs = 0));
};

const jumpOfControlPlane: Strike = (world, { target, forMs, size }) => {
  const index = target % world.controlPlanes.length;
  world.controlPlaneWallErrorsMs[index] = jumpOf(size);
  later(world, forMs, () => void (world.controlPlaneWallErrorsMs[index] = 0));
};

const unsubscribe: Strike = (world, { target, size }) => {
  const subscription = world.subscriptions[target % world.subscriptions.length];
  const sales = world.someControlPlane?.sales;
  if (subscription) void sales?.unsubscribe(subscription, size < 0.5).catch(() => undefined);
};

const jumpOfNode: Strike = (world, { target, forMs, size }) => {
  const machine = world.machines[target % world.machines.length];
  if (!machine) return;
  machine.wallErrorMs = jumpOf(size);
  later(world, forMs, () => void (machine.wallErrorMs = 0));
};

export const STRIKES: Readonly<Record<Fault['kind'], Strike>> = {
  'kill-node': (world, { target, forMs }) => killNode(world, target % world.nodes.length, forMs),
  'power-loss': losePower,
  'lost-disk': loseDisk,
  'lying-disk': disk((struck, isOn) => {
    struck.isLying = isOn;
    struck.hasLied = true;
  }),
  'full-disk': disk((struck, isOn) => void (struck.isFull = isOn)),
  'failing-disk': disk((struck, isOn) => {
    struck.isFailing = isOn;
    struck.hasFailed = true;
  }),
  'damaged-journal': damage,
  'node-clock': jumpOfNode,
  'redis-clock': jumpOfRedis,
  'control-plane-clock': jumpOfControlPlane,
  unsubscribe,
  forgery: forge,
  'cut-node': (world, { target, forMs }) =>
    cut(world, world.nodes[target % world.nodes.length]?.link, forMs),
  'slow-link': slowDown,
  stall,
  'kill-control-plane': killControlPlane,
  'cut-redis': cutControlPlane('redisLink'),
  'cut-postgres': cutControlPlane('postgresLink'),
  'postgres-crash': crashPostgres,
  'redis-crash': crashRedis,
  'redis-flush': (world, { forMs }) =>
    stopRedis(world, Math.min(forMs, 5_000), () => world.redis.flush()),
  'redis-old-file': (world, { forMs }) =>
    stopRedis(world, Math.min(forMs, 5_000), () => world.redis.bringOldFileBack()),
  duplicates: (world, { forMs }) => {
    world.isDuplicating = true;
    later(world, forMs, () => void (world.isDuplicating = false));
  },
  'lost-jobs': loseJobs,
  'drop-days': dropDays,
};
