import 'reflect-metadata';
import { parseArgs } from 'node:util';
import { DataSource } from 'typeorm';
import { z } from 'zod';
import { configSchema } from './config.ts';
import { ActivityService } from './features/activity/activity.service.ts';
import { resetPassword } from './features/auth/reset-password.ts';
import { archiveUsage } from './features/usage/archive/archive-usage.ts';
import { rebuildTotals } from './features/usage/rebuild-totals.ts';
import { AccountsService } from './features/users/accounts.service.ts';
import { runDeadLetterCommand } from './features/usage/dead-letters/dead-letter-commands.ts';
import { DEAD_LETTER_ENTITIES } from './features/usage/dead-letters/offline-dead-letters.ts';
import { User } from './features/users/user.entity.ts';
import { dataSourceOptions } from './platform/database/data-source-options.ts';
import { migrate } from './platform/database/migrate.ts';

const USAGE = `Runs on the server, against DATABASE_URL.

  reset-password <username>   sets a new random password, prints it once and ends all sessions of the account
  migrate                     brings the database to this release's schema; processes that start meanwhile wait for it
  verify-activity             recomputes the hash chain of the activity log; exit status 1 when it is broken
  export-usage <folder>       writes each finished day of single requests as a gzipped CSV file with a manifest and checksums; goes on where an
                              interrupted one was; --dry-run lists the days it would write
  rebuild-totals              recomputes the usage totals of all accounts from the roll-ups; booking waits meanwhile
  dead-letters                lists usage events that could not be booked, one JSON object a line; SHARDS as the control plane has it
  book-dead-letter <id> [fields]    books one, with the fields of its payload that a JSON object replaces; --although-day-was-dropped
                              books it although the retention has dropped its day and no record shows whether it was already charged
  dismiss-dead-letter <id> <note>   closes one without booking it
`;

class UsageError extends Error {}

async function main(): Promise<number> {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: {
      'although-day-was-dropped': { type: 'boolean', default: false },
      'dry-run': { type: 'boolean', default: false },
    },
  });
  const [command, ...args] = positionals;
  switch (command) {
    case 'reset-password':
      return withDatabase((dataSource) => printNewPassword(dataSource, args));
    case 'migrate':
      return withDatabase(printMigrated);
    case 'verify-activity':
      return withDatabase(verifyActivity);
    case 'export-usage':
      return withDatabase((dataSource) => printExported(dataSource, args, values['dry-run']));
    case 'rebuild-totals':
      return withDatabase(printRebuiltTotals);
    case 'dead-letters':
    case 'book-dead-letter':
    case 'dismiss-dead-letter':
      return withDatabase((dataSource) =>
        printDeadLetters(dataSource, [command, ...args], values['although-day-was-dropped']),
      );
    default:
      throw new UsageError(USAGE);
  }
}

async function printNewPassword(
  dataSource: DataSource,
  [username, ...rest]: string[],
): Promise<number> {
  if (username === undefined || rest.length > 0) throw new UsageError(USAGE);
  const password = await resetPassword(
    { dataSource, accounts: new AccountsService(dataSource.getRepository(User)) },
    username,
  );
  if (password === undefined)
    throw new UsageError(`There is no account ${JSON.stringify(username)}.\n`);
  process.stdout.write(`New password of ${username}: ${password}\n`);
  return 0;
}

async function verifyActivity(dataSource: DataSource): Promise<number> {
  const { entries, brokenAt } = await new ActivityService(dataSource).verify();
  process.stdout.write(
    brokenAt === null
      ? `The chain of ${entries} entries is whole.\n`
      : `The chain is broken at entry ${brokenAt}, after ${entries} good ones.\n`,
  );
  return brokenAt === null ? 0 : 1;
}

/** Several at once take turns; the later ones find nothing left to do. */
async function printMigrated(dataSource: DataSource): Promise<number> {
  await migrate(dataSource);
  process.stdout.write('The database has the schema of this release.\n');
  return 0;
}

/** One line a day, as it is done. */
async function printExported(
  dataSource: DataSource,
  [folder, ...rest]: string[],
  isDryRun: boolean,
): Promise<number> {
  if (folder === undefined || rest.length > 0) throw new UsageError(USAGE);
  for await (const { day, rows, state } of archiveUsage(dataSource, { folder, isDryRun }))
    process.stdout.write(`${day} ${rows} rows ${state}\n`);
  return 0;
}

async function printRebuiltTotals(dataSource: DataSource): Promise<number> {
  const { hours, days } = await rebuildTotals(dataSource);
  process.stdout.write(
    `The totals are the sums of the roll-ups again: ${hours} hourly and ${days} daily rows.\n`,
  );
  return 0;
}

async function printDeadLetters(
  dataSource: DataSource,
  args: readonly string[],
  isConfirmed: boolean,
): Promise<number> {
  const answers = await runDeadLetterCommand(dataSource, args, { isConfirmed });
  if (!answers) throw new UsageError(USAGE);
  for (const answer of answers) process.stdout.write(`${JSON.stringify(answer)}\n`);
  return 0;
}

async function withDatabase(work: (dataSource: DataSource) => Promise<number>): Promise<number> {
  const { DATABASE_URL } = z
    .object({ DATABASE_URL: configSchema.shape.DATABASE_URL })
    .parse(process.env);
  const dataSource = await new DataSource({
    ...dataSourceOptions({ DATABASE_URL, DATABASE_POOL_MAX: 2 }),
    entities: [User, ...DEAD_LETTER_ENTITIES],
  }).initialize();
  try {
    return await work(dataSource);
  } finally {
    await dataSource.destroy();
  }
}

main().then(
  (status) => void (process.exitCode = status),
  (error: unknown) => {
    process.stderr.write(
      error instanceof UsageError
        ? error.message
        : `${error instanceof Error ? error.message : String(error)}\n`,
    );
    process.exitCode = 2;
  },
);
