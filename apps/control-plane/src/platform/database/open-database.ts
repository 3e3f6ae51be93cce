import { setTimeout as delay } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { DataSource, type DataSourceOptions } from 'typeorm';
import { whileLocked } from './advisory-hold.ts';
import { ADVISORY_LOCKS } from './advisory-locks.ts';
import { isConnectionFailure } from './database-errors.ts';
import { migrate, pendingMigrations } from './migrate.ts';
import { mayMigrate } from './roles.ts';
import { requireSessionSettings } from './session-settings.ts';

/** PostgreSQL or the migrating command needs seconds to start. An operator sees within this time what the process waits for. */
const LOOK_EVERY_MS = 500;
const LOG_EVERY_MS = 15_000;

const logger = new Logger('postgres');

/** Connects to a database that has this release's schema. Waits while PostgreSQL does not answer, and for the owner's migrations. */
export async function openDatabase(options: DataSourceOptions): Promise<DataSource> {
  const say = saidRarely();
  for (;;) {
    const dataSource = new DataSource(options);
    try {
      await dataSource.initialize();
      await requireSessionSettings(dataSource);
      await awaitSchema(dataSource, say);
      return dataSource;
    } catch (error) {
      if (dataSource.isInitialized) await dataSource.destroy().catch(() => undefined);
      if (!isConnectionFailure(error)) throw error;
      say(`waiting for PostgreSQL, which DATABASE_URL names: ${String(error)}`);
    }
    await delay(LOOK_EVERY_MS);
  }
}

async function awaitSchema(dataSource: DataSource, say: (line: string) => void): Promise<void> {
  if (await mayMigrate(dataSource)) {
    logger.warn(
      'the role of DATABASE_URL may change tables, the ledger among them: a reader of this address can rewrite the books. Fix: a role of its own for DATABASE_URL, and DATABASE_OWNER_URL for tollgate-ops migrate (docs/security.md)',
    );
    return migrate(dataSource);
  }
  for (;;) {
    // The migrating process holds the lock until all rights are granted.
    const pending = await whileLocked(dataSource, [ADVISORY_LOCKS.migrations], () =>
      pendingMigrations(dataSource),
    );
    if (pending.length === 0) return;
    say(
      `waiting for ${pending.length} migrations, from ${pending[0]} on. Fix: tollgate-ops migrate, with DATABASE_OWNER_URL`,
    );
    await delay(LOOK_EVERY_MS);
  }
}

function saidRarely(): (line: string) => void {
  let saidAtMs = -Infinity;
  return (line) => {
    if (performance.now() - saidAtMs < LOG_EVERY_MS) return;
    saidAtMs = performance.now();
    logger.warn(line);
  };
}
