import { createHash } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { embeddedPostgres, postgresUrl } from '../embedded/postgres.ts';
import { sharedFolder } from '../embedded/postgres-binaries.ts';
import { resolveRedis } from '../embedded/resolve-redis.ts';
import { embeddedRedis, redisUrl } from '../embedded/redis.ts';
import { redisUrlsOf, sameRedisUrl, type RedisUrls } from '../embedded/redis-users.ts';
import { isReachable, serviceUser } from '../embedded/service-user.ts';
import type { ManagedProcess, ProcessFolders } from '../process/managed-process.ts';
import type { PortBook } from './port-book.ts';
import type { Progress } from './progress.ts';
import type { Secrets } from './secrets.ts';

const SERVICE_NAMES: Readonly<Record<string, string>> = { postgres: 'PostgreSQL', redis: 'Redis' };

export interface RunningServices {
  databaseUrl: string;
  redisUrls: RedisUrls;
  /** In the order in which to stop them. Empty for those that DATABASE_URL and REDIS_URL replace. */
  processes: ManagedProcess[];
}

export interface ServiceSettings {
  stateFolder: string;
  folders: ProcessFolders;
  ports: PortBook;
  secrets: Secrets;
  progress: Progress;
}

/** The embedded PostgreSQL and Redis of this checkout, or the given ones. Both start at the same time. */
export async function startEmbeddedServices(settings: ServiceSettings): Promise<RunningServices> {
  // Ports one after the other, as both claim from the same book.
  const database = process.env.DATABASE_URL ? undefined : await postgresOf(settings);
  const store = process.env.REDIS_URL ? undefined : await redisOf(settings);
  const processes = [store?.process, database?.process].filter((process) => process !== undefined);
  const results = await Promise.allSettled(
    processes.map((process) =>
      settings.progress.step(SERVICE_NAMES[process.spec.name] ?? process.spec.name, () =>
        process.start(),
      ),
    ),
  );
  const failed = results.find((result) => result.status === 'rejected');
  if (failed) {
    await Promise.all(processes.map((process) => process.stop()));
    throw failed.reason;
  }
  return {
    databaseUrl: database?.url ?? (process.env.DATABASE_URL as string),
    redisUrls: store?.urls ?? sameRedisUrl(process.env.REDIS_URL as string),
    processes,
  };
}

async function postgresOf({
  stateFolder,
  folders,
  ports,
  secrets,
}: ServiceSettings): Promise<{ process: ManagedProcess; url: string }> {
  const port = await ports.claim('postgres');
  const dataFolder = postgresFolder(stateFolder);
  return {
    process: embeddedPostgres({ dataFolder, port, password: secrets.postgres, folders }),
    url: postgresUrl({ port, password: secrets.postgres }),
  };
}

async function redisOf({
  stateFolder,
  folders,
  ports,
  secrets,
  progress,
}: ServiceSettings): Promise<{ process: ManagedProcess; urls: RedisUrls }> {
  const port = await ports.claim('redis');
  const process = embeddedRedis({
    dataFolder: path.join(stateFolder, 'redis'),
    port,
    password: secrets.redis,
    binary: await progress.step('Find Redis', () => resolveRedis()),
    folders,
  });
  const url = redisUrl({ port, password: secrets.redis });
  return { process, urls: redisUrlsOf(url, secrets.redis) };
}

/** Below the state folder, unless we are root and the user PostgreSQL runs as cannot get there (a checkout below /root). */
export function postgresFolder(stateFolder: string): string {
  mkdirSync(stateFolder, { recursive: true });
  const folder = path.join(stateFolder, 'postgres', 'data');
  if (isReachable(path.join(stateFolder, 'x'), serviceUser())) return folder;
  return path.join(
    sharedFolder(),
    createHash('sha256').update(stateFolder).digest('hex').slice(0, 16),
    'data',
  );
}
