import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { ManagedProcess } from '../process/managed-process.ts';
import { ask, embeddedRedis, type RedisSettings } from './redis.ts';

const MASTER_NAME = 'tollgate';
const READY_TIMEOUT_MS = 20_000;
const POLL_MS = 50;

export interface SentinelSettings extends Omit<
  RedisSettings,
  'port' | 'name' | 'busPort' | 'replicaOf' | 'isWatched'
> {
  ports: { primary: number; replica: number; sentinel: number };
}

/** Runs a primary, its replica and one sentinel that makes the replica primary a second after the primary's death, for tests of a failover. */
export function embeddedRedisSentinel({ ports, dataFolder, ...settings }: SentinelSettings): {
  processes: ManagedProcess[];
  start: () => Promise<void>;
} {
  const primary = embeddedRedis({
    ...settings,
    dataFolder: path.join(dataFolder, 'primary'),
    port: ports.primary,
    name: 'redis-1',
    isWatched: true,
  });
  const replica = embeddedRedis({
    ...settings,
    dataFolder: path.join(dataFolder, 'replica'),
    port: ports.replica,
    name: 'redis-2',
    replicaOf: ports.primary,
    isWatched: true,
  });
  const sentinel = sentinelProcess({
    ...settings,
    dataFolder: path.join(dataFolder, 'sentinel'),
    ports,
  });
  const start = async (): Promise<void> => {
    await primary.start();
    await replica.start();
    await sentinel.start();
    // A sentinel that has not found the replica yet has no replica to promote.
    for (
      const deadline = Date.now() + READY_TIMEOUT_MS;
      (await ask(ports.sentinel, 'INFO sentinel\r\n', /status=(ok),[^\r]*slaves=1,/)) === undefined;
      await delay(POLL_MS)
    ) {
      if (Date.now() >= deadline) throw new Error('The sentinel did not find the replica in time.');
    }
  };
  return { processes: [primary, replica, sentinel], start };
}

export function redisSentinelUrl({
  ports,
  password,
}: Pick<SentinelSettings, 'ports' | 'password'>): string {
  return `redis-sentinel://:${password}@127.0.0.1:${ports.sentinel}/${MASTER_NAME}`;
}

function sentinelProcess(settings: SentinelSettings): ManagedProcess {
  const { ports, binary, folders, dataFolder } = settings;
  const configFile = path.join(dataFolder, 'sentinel.conf');
  return new ManagedProcess(
    {
      name: 'redis-sentinel',
      command: binary.server,
      args: [configFile, '--sentinel'],
      cwd: dataFolder,
      env: { ...process.env, ...binary.env },
      stop: { steps: [{ signal: 'SIGTERM', graceMs: 5_000 }], isLast: true },
      prepare: async () => {
        mkdirSync(dataFolder, { recursive: true, mode: 0o700 });
        // The sentinel keeps there who is primary now.
        if (existsSync(configFile)) return;
        writeFileSync(configFile, sentinelConfig(settings), { mode: 0o600 });
      },
      isReady: async (pid) =>
        (await ask(ports.sentinel, 'INFO server\r\n', /process_id:(\d+)\r/)) === String(pid),
      readyTimeoutMs: READY_TIMEOUT_MS,
    },
    folders,
  );
}

function sentinelConfig({ ports, password, dataFolder }: SentinelSettings): string {
  return [
    'bind 127.0.0.1',
    `port ${ports.sentinel}`,
    `dir ${JSON.stringify(dataFolder)}`,
    `sentinel monitor ${MASTER_NAME} 127.0.0.1 ${ports.primary} 1`,
    `sentinel auth-pass ${MASTER_NAME} ${password}`,
    `sentinel down-after-milliseconds ${MASTER_NAME} 1000`,
    `sentinel failover-timeout ${MASTER_NAME} 5000`,
    '',
  ].join('\n');
}
