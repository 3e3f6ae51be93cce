import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { ManagedProcess } from '../process/managed-process.ts';
import { ask, embeddedRedis, type RedisSettings } from './redis.ts';

const SLOTS = 16_384;
const JOIN_TIMEOUT_MS = 20_000;
const POLL_MS = 50;

interface Ports {
  port: number;
  busPort: number;
}

export interface ClusterSettings extends Omit<
  RedisSettings,
  'port' | 'name' | 'busPort' | 'replicaOf' | 'isWatched'
> {
  /** Holds one pair for each primary. */
  ports: readonly Ports[];
  /** Holds one pair for each replica, in the order of their primaries; none by default. */
  replicaPorts?: readonly Ports[];
}

export interface EmbeddedCluster {
  /** Lists primaries, then replicas. */
  processes: ManagedProcess[];
  /** Starts all servers and, the first time, makes them one cluster. */
  start: () => Promise<void>;
}

/** Runs a Redis Cluster on 127.0.0.1, for tests of what a cluster demands of its clients. A replica takes over some seconds after its primary's death. */
export function embeddedRedisCluster({
  ports,
  replicaPorts = [],
  dataFolder,
  ...settings
}: ClusterSettings): EmbeddedCluster {
  const processes = [...ports, ...replicaPorts].map(({ port, busPort }, index) =>
    embeddedRedis({
      ...settings,
      dataFolder: path.join(dataFolder, String(index + 1)),
      port,
      busPort,
      name: `redis-${index + 1}`,
    }),
  );
  const { password } = settings;
  const start = async (): Promise<void> => {
    await Promise.all(processes.map((process) => process.start()));
    await giveSlots(ports, password);
    await meet([...ports, ...replicaPorts], password);
    for (const [index, { port }] of replicaPorts.entries())
      await replicate({ port, primary: ports[index]?.port ?? 0, password });
  };
  return { processes, start };
}

export function redisClusterUrl({
  ports,
  password,
}: Pick<ClusterSettings, 'ports' | 'password'>): string {
  return `redis-cluster://:${password}@${ports.map(({ port }) => `127.0.0.1:${port}`).join(',')}`;
}

async function giveSlots(primaries: readonly Ports[], password: string): Promise<void> {
  for (const [index, { port }] of primaries.entries()) {
    const from = Math.floor((index * SLOTS) / primaries.length);
    const to = Math.floor(((index + 1) * SLOTS) / primaries.length) - 1;
    // Errors are a cluster that exists already.
    await ask(
      port,
      `AUTH ${password}\r\nCLUSTER SET-CONFIG-EPOCH ${index + 1}\r\nCLUSTER ADDSLOTSRANGE ${from} ${to}\r\n`,
      /^\+OK\r\n.*\r\n(.)/s,
    );
  }
}

async function meet(members: readonly Ports[], password: string): Promise<void> {
  const [first] = members;
  if (first)
    for (const { port } of members)
      await ask(
        port,
        `AUTH ${password}\r\nCLUSTER MEET 127.0.0.1 ${first.port} ${first.busPort}\r\n`,
        /^\+OK\r\n(.)/s,
      );
  const info = new RegExp(
    `cluster_state:ok[^]*cluster_slots_assigned:${SLOTS}\\b[^]*cluster_known_nodes:(\\d+)`,
  );
  for (const deadline = Date.now() + JOIN_TIMEOUT_MS; ; await delay(POLL_MS)) {
    const known = await Promise.all(
      members.map(({ port }) => ask(port, `AUTH ${password}\r\nCLUSTER INFO\r\n`, info)),
    );
    if (known.every((count) => Number(count) === members.length)) return;
    if (Date.now() >= deadline) throw new Error('The Redis Cluster did not come together in time.');
  }
}

async function replicate({
  port,
  primary,
  password,
}: {
  port: number;
  primary: number;
  password: string;
}): Promise<void> {
  const id = await ask(
    primary,
    `AUTH ${password}\r\nCLUSTER MYID\r\n`,
    /^\+OK\r\n\$40\r\n([0-9a-f]{40})\r\n/,
  );
  await ask(port, `AUTH ${password}\r\nCLUSTER REPLICATE ${id}\r\n`, /^\+OK\r\n(.)/s);
  for (const deadline = Date.now() + JOIN_TIMEOUT_MS; ; await delay(POLL_MS)) {
    const link = await ask(
      port,
      `AUTH ${password}\r\nINFO replication\r\n`,
      /master_link_status:(\w+)/,
    );
    if (link === 'up') return;
    if (Date.now() >= deadline) throw new Error('A replica did not come into step in time.');
  }
}
