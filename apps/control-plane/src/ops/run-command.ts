import { parseArgs } from 'node:util';
import { auditCommand } from './audit.ts';
import { backupCommand } from './backup.ts';
import { eraseCommand } from './erase.ts';
import { EXIT, report, UsageError, type Call, type Command } from './command.ts';
import { epochsCommand } from './epochs.ts';
import { exportCommand } from './export.ts';
import { initCommand } from './init.ts';
import { lossCommand } from './loss.ts';
import { migrateCommand } from './migrate.ts';
import { pruneCommand } from './prune.ts';
import { DEAD_LETTER_COMMANDS, rebuildTotalsCommand, resetPasswordCommand } from './repairs.ts';
import { restoreCommand } from './restore.ts';
import { rotateCommand } from './rotate.ts';
import { verifyCommand } from './verify.ts';

const COMMANDS: Readonly<Record<string, Command>> = {
  init: initCommand,
  migrate: migrateCommand,
  verify: verifyCommand,
  rotate: rotateCommand,
  backup: backupCommand,
  restore: restoreCommand,
  loss: lossCommand,
  export: exportCommand,
  prune: pruneCommand,
  erase: eraseCommand,
  audit: auditCommand,
  epochs: epochsCommand,
  'reset-password': resetPasswordCommand,
  'rebuild-totals': rebuildTotalsCommand,
  ...DEAD_LETTER_COMMANDS,
};
/** Maps earlier names of commands to the present ones. */
const FORMER_NAMES: Readonly<Record<string, string>> = {
  'verify-activity': 'verify',
  'export-usage': 'export',
};

/** Runs `tollgate-ops` with these arguments, and returns its exit status. */
export async function runCommand(words: readonly string[]): Promise<number> {
  try {
    return await commanded([...words]);
  } catch (error) {
    report((error instanceof Error ? error.message : String(error)).trimEnd());
    return EXIT.failed;
  }
}

async function commanded(words: string[]): Promise<number> {
  const { positionals, values } = parseArgs({
    args: words,
    allowPositionals: true,
    options: {
      'although-day-was-dropped': { type: 'boolean', default: false },
      'dry-run': { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  const [name = '', ...args] = positionals;
  const command = COMMANDS[FORMER_NAMES[name] ?? name];
  if (values.help) {
    process.stdout.write(usage());
    return EXIT.done;
  }
  if (!command) throw new UsageError(usage());
  const call: Call = {
    args,
    isDryRun: values['dry-run'],
    isConfirmed: values['although-day-was-dropped'],
  };
  return command.run(call);
}

function usage(): string {
  const lines = Object.entries(COMMANDS).map(
    ([name, { synopsis, says }]) =>
      `  ${[name, synopsis].filter(Boolean).join(' ')}\n      ${says}\n`,
  );
  return `tollgate-ops COMMAND [--dry-run]. Runs beside the control plane, against DATABASE_URL (init against nothing); audit, book-dead-letter, epochs and loss also against REDIS_URL.

${lines.join('')}
Each may be interrupted and repeated. --dry-run says what a command would do and changes nothing. Results go to standard output, progress to
standard error. Exit status 0: done. 1: what was checked is not sound. 2: it could not be done; the message says why.
`;
}
