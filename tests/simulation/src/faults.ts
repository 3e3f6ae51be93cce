import { decodeLine } from '../../../apps/proxy-node/src/journal/journal-line.ts';
import { Violation } from './checks.ts';
import type { Fault } from './fault-plan.ts';
import type { Link } from './link.ts';
import type { World } from './world.ts';

/** What a power loss may cost at most: a tick between two syncs, and the sync itself. */
const SYNCED_WITHIN_MS = 250;

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
  return world.controlPlane ? [...links, world.controlPlane.redisLink] : links;
}

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

/** Requests of a machine whose finals can no longer be read from its disk. */
function lostFinals(world: World, machine: number): Set<string> {
  const texts = [...(world.machines[machine]?.disk.files ?? [])]
    .filter(([path]) => path.includes('.journal'))
    .map(([, { bytes }]) => bytes.toString('utf8'));
  const kept = new Set(
    texts.flatMap((text) =>
      text.split('\n').flatMap((line) => {
        const decoded = decodeLine(line);
        return decoded?.t === 'F' ? [decoded.rid] : [];
      }),
    ),
  );
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

/** While its node is down, so that the next start reads it. */
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

/** As the retention does, at the earliest day that may go. */
const dropDays: Strike = (world) => {
  const today = new Date(world.scheduler.nowMs).toISOString().slice(0, 10);
  if (today === new Date(world.startMs).toISOString().slice(0, 10)) return;
  world.hasDroppedDays = true;
  void world.controlPlane?.dropDays(today).catch(() => undefined);
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

/** Of what it wrote in its last second, as with a file that is synced once a second. */
const crashRedis: Strike = (world, { forMs, size }) => {
  const written = world.redis.callsSince(world.redis.nowMs - 1_000);
  stopRedis(world, forMs, () => world.redis.loseTail(Math.floor(written * size)));
};

const killControlPlane: Strike = (world, { forMs }) => {
  if (!world.controlPlane) return;
  world.controlPlane.kill();
  world.controlPlane = null;
  later(world, forMs, () => world.startControlPlane());
};

const crashPostgres: Strike = (world, { forMs }) => {
  if (!world.postgres.isUp) return;
  world.postgres.crash();
  world.controlPlane?.postgresLink.serverLost();
  later(world, forMs, () => {
    world.postgres.isUp = true;
    world.controlPlane?.postgresLink.connect();
  });
};

const setClock: Strike = (world, { target, forMs, size }) => {
  const machine = world.machines[target % world.machines.length];
  if (!machine) return;
  const hours = size < 0.5 ? 1 : 0.05;
  machine.wallErrorMs = Math.round((size % 0.5 < 0.25 ? -1 : 1) * hours * 3_600_000 * size);
  later(world, forMs, () => void (machine.wallErrorMs = 0));
};

export const STRIKES: Readonly<Record<Fault['kind'], Strike>> = {
  'kill-node': (world, { target, forMs }) => killNode(world, target % world.nodes.length, forMs),
  'power-loss': losePower,
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
  'node-clock': setClock,
  'cut-node': (world, { target, forMs }) =>
    cut(world, world.nodes[target % world.nodes.length]?.link, forMs),
  'kill-control-plane': killControlPlane,
  'cut-redis': (world, { forMs }) => cut(world, world.controlPlane?.redisLink, forMs),
  'cut-postgres': (world, { forMs }) => cut(world, world.controlPlane?.postgresLink, forMs),
  'postgres-crash': crashPostgres,
  'redis-crash': crashRedis,
  'redis-flush': (world, { forMs }) =>
    stopRedis(world, Math.min(forMs, 5_000), () => world.redis.flush()),
  duplicates: (world, { forMs }) => {
    world.isDuplicating = true;
    later(world, forMs, () => void (world.isDuplicating = false));
  },
  'drop-days': dropDays,
};
