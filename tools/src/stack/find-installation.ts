import { readFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { STATE_FOLDER } from '../checkout.ts';
import { postgresUrl } from '../embedded/postgres.ts';
import {
  databaseUrlsOf,
  namedDatabaseUrls,
  type DatabaseUrls,
} from '../embedded/postgres-roles.ts';
import { redisUrl } from '../embedded/redis.ts';

const portsSchema = z.object({ postgres: z.number().optional(), redis: z.number().optional() });
const secretsSchema = z.object({ postgres: z.string(), redis: z.string() });

/** Finds PostgreSQL and Redis of the installation of this checkout; DATABASE_URL and REDIS_URL replace them. Throws an Error that says what to do. */
export function findInstallation(environment: NodeJS.ProcessEnv): {
  databaseUrls: DatabaseUrls;
  redisUrl: string;
} {
  const { DATABASE_URL, REDIS_URL } = environment;
  const named = DATABASE_URL ? namedDatabaseUrls(DATABASE_URL, environment) : undefined;
  if (named && REDIS_URL) return { databaseUrls: named, redisUrl: REDIS_URL };
  const ports = portsSchema.parse(readState('ports.json'));
  const secrets = secretsSchema.parse(readState('secrets.json'));
  const databaseUrls = named ?? embeddedUrls(ports.postgres, secrets.postgres);
  const url =
    REDIS_URL ?? (ports.redis && redisUrl({ port: ports.redis, password: secrets.redis }));
  if (!databaseUrls || !url) throw missing();
  return { databaseUrls, redisUrl: url };
}

function embeddedUrls(port: number | undefined, password: string): DatabaseUrls | undefined {
  return port === undefined ? undefined : databaseUrlsOf(postgresUrl({ port, password }), password);
}

function readState(name: string): unknown {
  try {
    return JSON.parse(readFileSync(path.join(STATE_FOLDER, name), 'utf8'));
  } catch {
    throw missing();
  }
}

function missing(): Error {
  return new Error(
    'There is no installation in this checkout.\n  Fix: npm start, or set DATABASE_URL and REDIS_URL',
  );
}
