import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll } from '@jest/globals';
import { createControlPlaneMac, type NodeReport } from '@tollgate/contracts';
import { startServices, type Services } from '@tollgate/harness';
import {
  closeRedis,
  openRedis,
  primariesOf,
  redisReady,
  type ConnectionRole,
  type RedisConnection,
} from '../src/index.ts';

export const mac = createControlPlaneMac({ current: 'k'.repeat(43) });
export let services: Services;
export let redis: RedisConnection;
export const opened: RedisConnection[] = [];

export async function open(role: ConnectionRole): Promise<RedisConnection> {
  const connection = openRedis(services.redisUrl, { role, name: 'stores-spec', onError: () => {} });
  opened.push(connection);
  await redisReady(connection, 5_000);
  return connection;
}

/** Sums over all servers. */
export async function sumOf(section: string, name: string): Promise<number> {
  const infos = await Promise.all(primariesOf(redis).map((primary) => primary.info(section)));
  return infos.reduce(
    (sum, info) => sum + Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1]),
    0,
  );
}

export async function blockedClients(): Promise<number> {
  return sumOf('clients', 'blocked_clients');
}

export const report = (changes: Partial<NodeReport> = {}): NodeReport => ({
  ...{
    name: 'node-1',
    worker: 0,
    instance: randomUUID(),
    url: null,
    state: 'online',
    version: 3,
    checksum: 'c',
    applied_at: 1,
    refused: null,
  },
  ...{
    started_at: 1,
    reported_at: 1_000,
    in_flight: 0,
    unacknowledged: 0,
    software: '0.1.0',
    proof: 'p',
  },
  ...{
    lineage: 0,
    abilities: [],
    upstreams: [],
    journals_set_aside: 0,
    doubted: [],
    redis: null,
  },
  ...changes,
});

/** Starts one Redis, which serves all parts; the spec that imports them calls it. */
export function shareRedis(): void {
  beforeAll(async () => {
    services = await startServices({ postgres: false });
    redis = await open('plain');
  });
  afterAll(async () => {
    opened.forEach(closeRedis);
    await services?.stop();
  });
  afterEach(async () => {
    await Promise.all(primariesOf(redis).map((primary) => primary.flushall()));
  });
}
