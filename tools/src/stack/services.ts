import { createHash } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { embeddedPostgres, postgresUrl } from '../embedded/postgres.ts';
import { sharedFolder } from '../embedded/postgres-binaries.ts';
import {
  databaseUrlsOf,
  namedDatabaseUrls,
  type DatabaseUrls,
} from '../embedded/postgres-roles.ts';
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
  databaseUrls: DatabaseUrls;
  redisUrls: RedisUrls;
  /** Lists processes in the order in which to stop them. It is empty for those that DATABASE_URL and REDIS_URL replace. */
  processes: ManagedProcess[];
}

export interface ServiceSettings {
  stateFolder: string;
  folders: ProcessFolders;
  ports: PortBook;
  secrets: Secrets;
  progress: Progress;
}

/** Starts the embedded PostgreSQL and Redis of this checkout, or uses the given ones. PostgreSQL starts while Redis is found or fetched. */
export async function startEmbeddedServices(settings: ServiceSettings): Promise<RunningServices> {
  // Ports are claimed one after the other, as both claim from the same book.
  const database = process.env.DATABASE_URL ? undefined : await postgresOf(settings);
  const redisPort = process.env.REDIS_URL ? undefined : await settings.ports.claim('redis');
  const starting = [
    redisPort === undefined ? undefined : startRedis(settings, redisPort),
    database && startService(settings, database.process),
  ].filter((service) => service !== undefined);
  const results = await Promise.allSettled(starting);
  const processes = results.flatMap((result) =>
    result.status === 'fulfilled' ? [result.value] : [],
  );
  const failed = results.find((result) => result.status === 'rejected');
  if (failed) {
    await Promise.all(processes.map((process) => process.stop()));
    throw failed.reason;
  }
  return {
    databaseUrls:
      database?.urls ?? namedDatabaseUrls(process.env.DATABASE_URL as string, process.env),
    redisUrls:
      redisPort === undefined
        ? sameRedisUrl(process.env.REDIS_URL as string)
        : embeddedRedisUrls(settings, redisPort),
    processes,
  };
}

async function startService(
  { progress }: ServiceSettings,
  process: ManagedProcess,
): Promise<ManagedProcess> {
  const { name } = process.spec;
  await progress.step(SERVICE_NAMES[name] ?? name, () => process.start());
  return process;
}

async function startRedis(settings: ServiceSettings, port: number): Promise<ManagedProcess> {
  const { stateFolder, folders, secrets, progress } = settings;
  const binary = await progress.step('Find Redis', () => resolveRedis());
  const dataFolder = path.join(stateFolder, 'redis');
  return startService(
    settings,
    embeddedRedis({ dataFolder, port, password: secrets.redis, binary, folders }),
  );
}

function embeddedRedisUrls({ secrets }: ServiceSettings, port: number): RedisUrls {
  return redisUrlsOf(redisUrl({ port, password: secrets.redis }), secrets.redis);
}

async function postgresOf({
  stateFolder,
  folders,
  ports,
  secrets,
}: ServiceSettings): Promise<{ process: ManagedProcess; urls: DatabaseUrls }> {
  const port = await ports.claim('postgres');
  const dataFolder = postgresFolder(stateFolder);
  return {
    process: embeddedPostgres({ dataFolder, port, password: secrets.postgres, folders }),
    urls: databaseUrlsOf(postgresUrl({ port, password: secrets.postgres }), secrets.postgres),
  };
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
