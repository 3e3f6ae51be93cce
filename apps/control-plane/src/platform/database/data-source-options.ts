import { Logger } from '@nestjs/common';
import type { DataSourceOptions } from 'typeorm';
import type { Config } from '../../config.ts';
import { LastingClient } from './lasting-client.ts';
import { SnakeCaseNames } from './snake-case-names.ts';
import { Schema1795824000000 } from './migrations/1795824000000-schema.ts';

const CONNECT_TIMEOUT_MS = 5_000;
/**
 * A connection caches its plans and the catalogue. With the driver's default of 10 s most connections would be replaced between two peaks, and a new
 * connection costs a batch several times its CPU.
 */
const IDLE_TIMEOUT_MS = 600_000;
/** Is the silence after which the first of ten probes follows, at intervals of one second. The server has the same setting. */
const KEEP_ALIVE_AFTER_MS = 15_000;
/** No statement of a request may run longer, so that a stuck one does not hold row locks without end. */
const STATEMENT_TIMEOUT_MS = 30_000;
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 30_000;

/**
 * The control plane's statements depend on these settings. A role can change its own defaults (ALTER ROLE ... SET), but the settings of the
 * connection take precedence. Times leave and enter as UTC. JIT is off because compiling costs more than any of these statements. A client whose
 * machine vanished keeps its locks until the server notices: with these settings within half a minute instead of two hours.
 */
export const SESSION_SETTINGS: Readonly<Record<string, string>> = {
  search_path: 'public',
  timezone: 'UTC',
  jit: 'off',
  default_transaction_isolation: 'read committed',
  default_transaction_read_only: 'off',
  lock_timeout: '0',
  DateStyle: 'ISO, MDY',
  IntervalStyle: 'postgres',
  bytea_output: 'hex',
  standard_conforming_strings: 'on',
  tcp_keepalives_idle: '15',
  tcp_keepalives_interval: '5',
  tcp_keepalives_count: '3',
};

const logger = new Logger('postgres');

/** Lists the migrations in the order in which they run. A new one is added at the end. */
const MIGRATIONS = [Schema1795824000000] as const;

/** Features add their own entities (TypeOrmModule.forFeature). */
export function dataSourceOptions(config: Pick<Config, 'DATABASE_URL' | 'DATABASE_POOL_MAX'>) {
  return {
    type: 'postgres',
    url: config.DATABASE_URL,
    applicationName: 'tollgate-control-plane',
    poolSize: config.DATABASE_POOL_MAX,
    synchronize: false,
    namingStrategy: new SnakeCaseNames(),
    migrations: [...MIGRATIONS],
    migrationsTableName: 'migrations',
    // An idle connection that PostgreSQL closes must not end the process.
    poolErrorHandler: (error: unknown) => logger.warn(error, 'an idle connection was lost'),
    extra: {
      Client: LastingClient,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      idleTimeoutMillis: IDLE_TIMEOUT_MS,
      // A server whose machine vanished neither answers nor closes its connections. Without probes its client would wait without end.
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_AFTER_MS,
      statement_timeout: STATEMENT_TIMEOUT_MS,
      idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_TIMEOUT_MS,
      options: Object.entries(SESSION_SETTINGS)
        .map(([name, value]) => `-c ${name}=${value.replaceAll(' ', '\\ ')}`)
        .join(' '),
    },
  } satisfies DataSourceOptions;
}
