import type { DataSource } from 'typeorm';
import { migrate, pendingMigrations } from '../platform/database/migrate.ts';
import { EXIT, noArguments, say, type Command } from './command.ts';
import { withDatabase } from './connections.ts';
import { otherRoles } from './database-settings.ts';
import { makeRoles } from './make-roles.ts';

export const migrateCommand: Command = {
  says: "brings the database to this release's schema; several at once take turns. Works as DATABASE_OWNER_URL; with DATABASE_ADMIN_URL it makes the roles first",
  run: async (call) => {
    noArguments(call);
    if (!call.isDryRun) await makeRoles();
    return withDatabase(call.isDryRun ? printPending : runPending, { role: 'owner' });
  },
};

async function printPending(dataSource: DataSource): Promise<number> {
  for (const name of await pendingMigrations(dataSource)) say(name);
  return EXIT.done;
}

async function runPending(dataSource: DataSource): Promise<number> {
  await migrate(dataSource, otherRoles());
  say('The database has the schema of this release.');
  return EXIT.done;
}
