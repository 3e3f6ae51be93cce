import type { DataSource } from 'typeorm';
import { AlertsService } from '../features/alerts/alerts.service.ts';
import { configSchema } from '../config.ts';
import { dataSourceOptions } from '../platform/database/data-source-options.ts';
import {
  damagedFiles,
  readBackup,
  type Backup,
} from '../platform/database/backup/backup-folder.ts';
import { loadBackup, readTarget, type Target } from '../platform/database/backup/restore-backup.ts';
import { migrate } from '../platform/database/migrate.ts';
import { refuseDevelopmentBuild } from '../platform/database/applied-migrations.ts';
import { counted, EXIT, onlyArgument, report, say, type Command } from './command.ts';
import { withDatabase, withSession } from './connections.ts';
import { otherRoles } from './database-settings.ts';
import { makeRoles } from './make-roles.ts';

export const restoreCommand: Command = {
  synopsis: 'BACKUP',
  says: 'loads a backup into an empty database; afterwards start the control planes and run `loss`',
  run: async (call) => {
    const folder = onlyArgument(call, 'the folder of one backup');
    const backup = await readBackup(folder);
    refuseDevelopmentBuild('backup', backup.migrations);
    refuseLaterRelease(backup);
    const damaged = await damagedFiles(folder, backup, (file) => report(`checked ${file}`));
    if (damaged.length > 0)
      throw new Error(`The backup is damaged: ${damaged.join(', ')}. Nothing was loaded.`);
    const target = await withSession('owner', (session) => readTarget(session, backup));
    if (target === 'in use')
      throw new Error('The database has accounts or ledger entries. Restore into an empty one.');
    if (call.isDryRun) {
      say(planOf(backup, target));
      return EXIT.done;
    }
    if (target === 'empty') await load(folder, backup);
    await withDatabase((owner) => migrate(owner, otherRoles()), { role: 'owner' });
    await raiseAlert(backup);
    say(
      `The database has the data of ${backup.taken_at}. Start the control planes, then run loss.`,
    );
    return EXIT.done;
  },
};

function refuseLaterRelease(backup: Backup): void {
  const known = dataSourceOptions({ DATABASE_URL: '', DATABASE_POOL_MAX: 1 }).migrations;
  const unknown = backup.migrations.filter((name) => !known.some((each) => each.name === name));
  if (unknown.length > 0)
    throw new Error(`The backup is of a later release: it has ${unknown.join(', ')}.`);
}

function planOf({ tables, taken_at }: Backup, target: Target): string {
  const rows = tables.reduce((sum, table) => sum + table.rows, 0);
  return target === 'restored'
    ? `The backup of ${taken_at} has been loaded already.`
    : `It would load ${counted(rows, 'row')} of ${counted(tables.length, 'table')}, as of ${taken_at}.`;
}

/** Loads the schema first, as it was: a later migration finds the rows that it changes. */
async function load(folder: string, backup: Backup): Promise<void> {
  await makeRoles();
  await withDatabase((owner) => migrate(owner), { role: 'owner', migrations: backup.migrations });
  await withSession('owner', (session) =>
    loadBackup(session, { folder, backup }, ({ name, rows }) =>
      report(`${name} ${counted(rows, 'row')}`),
    ),
  );
}

async function raiseAlert({ taken_at }: Backup): Promise<void> {
  const { ALERT_WEBHOOK_URL } = configSchema.pick({ ALERT_WEBHOOK_URL: true }).parse(process.env);
  const raise = async (dataSource: DataSource): Promise<void> => {
    const [open]: unknown[] = await dataSource.query(
      'SELECT 1 FROM restores WHERE closed_at IS NULL',
    );
    if (open === undefined) return;
    await new AlertsService(dataSource, { ALERT_WEBHOOK_URL }).raise(dataSource.manager, {
      rule: 'restore_open',
      subject: 'database',
      message: `The database was restored from a backup of ${taken_at}; balances in Redis are not reconciled until tollgate-ops loss has run`,
      detail: { taken_at },
    });
  };
  await withDatabase(raise, { role: 'owner' });
}
