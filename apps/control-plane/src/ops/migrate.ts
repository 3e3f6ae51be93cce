import type { DataSource } from 'typeorm';
import { migrate, pendingMigrations } from '../platform/database/migrate.ts';
import { EXIT, noArguments, say, type Command } from './command.ts';
import { withDatabase } from './connections.ts';

export const migrateCommand: Command = {
  says: "brings the database to this release's schema; several at once take turns",
  run: (call) => {
    noArguments(call);
    return withDatabase(call.isDryRun ? printPending : runPending);
  },
};

async function printPending(dataSource: DataSource): Promise<number> {
  for (const name of await pendingMigrations(dataSource)) say(name);
  return EXIT.done;
}

async function runPending(dataSource: DataSource): Promise<number> {
  await migrate(dataSource);
  say('The database has the schema of this release.');
  return EXIT.done;
}
