import type { DataSource } from 'typeorm';
import { ActivityService } from '../features/activity/activity.service.ts';
import { damagedFiles, readBackup } from '../platform/database/backup/backup-folder.ts';
import { pendingMigrations } from '../platform/database/migrate.ts';
import { counted, EXIT, onlyArgument, report, say, type Command } from './command.ts';
import { withDatabase } from './connections.ts';

export const verifyCommand: Command = {
  synopsis: '[BACKUP]',
  says: 'checks that the schema is of this release and the hash chain of the activity log is whole; with a folder, that the backup in it is',
  run: (call) =>
    call.args.length === 0
      ? withDatabase(verifyDatabase, { role: 'reader' })
      : verifyBackup(onlyArgument(call, 'the folder of a backup')),
};

async function verifyDatabase(dataSource: DataSource): Promise<number> {
  const pending = await pendingMigrations(dataSource);
  say(
    pending.length === 0
      ? 'The schema is that of this release.'
      : `${counted(pending.length, 'migration')} of this release did not run: ${pending.join(', ')}.`,
  );
  const { entries, brokenAt } = await new ActivityService(dataSource).verify();
  say(
    brokenAt === null
      ? `The chain of ${entries} entries is whole.`
      : `The chain is broken at entry ${brokenAt}, after ${entries} good ones.`,
  );
  return brokenAt === null && pending.length === 0 ? EXIT.done : EXIT.unsound;
}

async function verifyBackup(folder: string): Promise<number> {
  const backup = await readBackup(folder);
  const damaged = await damagedFiles(folder, backup, (file) => report(`checked ${file}`));
  for (const file of damaged) say(`${file} is missing or damaged.`);
  if (damaged.length === 0)
    say(`The backup of ${backup.taken_at} is complete: ${counted(backup.tables.length, 'table')}.`);
  return damaged.length === 0 ? EXIT.done : EXIT.unsound;
}
