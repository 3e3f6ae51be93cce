import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { ManagedProcess } from '../process/managed-process.ts';
import { ask, embeddedRedis, type RedisSettings } from './redis.ts';

const SLOTS = 16_384;
const JOIN_TIMEOUT_MS = 20_000;
const POLL_MS = 50;

export interface ClusterSettings extends Omit<
  RedisSettings,
  'port' | 'name' | 'busPort' | 'replicaOf' | 'isWatched'
> {
  /** One pair a primary. */
  ports: readonly { port: number; busPort: number }[];
}

export interface EmbeddedCluster {
  processes: ManagedProcess[];
  /** Starts all primaries and, the first time, makes them one cluster. */
  start: () => Promise<void>;
}

/** A Redis Cluster of primaries without replicas on 127.0.0.1: for tests of what a cluster demands of its clients. */
export function embeddedRedisCluster({
  ports,
  dataFolder,
  ...settings
}: ClusterSettings): EmbeddedCluster {
  const processes = ports.map(({ port, busPort }, index) =>
    embeddedRedis({
      ...settings,
      dataFolder: path.join(dataFolder, String(index + 1)),
      port,
      busPort,
      name: `redis-${index + 1}`,
    }),
  );
  const start = async (): Promise<void> => {
    await Promise.all(processes.map((process) => process.start()));
    await join(ports, settings.password);
  };
  return { processes, start };
}

export function redisClusterUrl({
  ports,
  password,
}: Pick<ClusterSettings, 'ports' | 'password'>): string {
  return `redis-cluster://:${password}@${ports.map(({ port }) => `127.0.0.1:${port}`).join(',')}`;
}

async function join(ports: ClusterSettings['ports'], password: string): Promise<void> {
  const [first] = ports;
  for (const [index, { port }] of ports.entries()) {
    const from = Math.floor((index * SLOTS) / ports.length);
    const to = Math.floor(((index + 1) * SLOTS) / ports.length) - 1;
    // Errors are a cluster that exists already.
    await ask(
      port,
      `AUTH ${password}\r\nCLUSTER SET-CONFIG-EPOCH ${index + 1}\r\nCLUSTER ADDSLOTSRANGE ${from} ${to}\r\n`,
      /^\+OK\r\n.*\r\n(.)/s,
    );
    if (first)
      await ask(
        port,
        `AUTH ${password}\r\nCLUSTER MEET 127.0.0.1 ${first.port} ${first.busPort}\r\n`,
        /^\+OK\r\n(.)/s,
      );
  }
  for (const deadline = Date.now() + JOIN_TIMEOUT_MS; ; await delay(POLL_MS)) {
    const known = await Promise.all(
      ports.map(({ port }) =>
        ask(
          port,
          `AUTH ${password}\r\nCLUSTER INFO\r\n`,
          new RegExp(
            `cluster_state:ok[^]*cluster_slots_assigned:${SLOTS}\\b[^]*cluster_known_nodes:(\\d+)`,
          ),
        ),
      ),
    );
    if (known.every((count) => Number(count) === ports.length)) return;
    if (Date.now() >= deadline) throw new Error('The Redis Cluster did not come together in time.');
  }
}
