import { onReaderGone, VERSION } from '@tollgate/contracts';
import { Command, CommanderError, Option } from 'commander';
import { addAuditCommand } from './commands/audit.ts';
import { addCompletionCommands } from './commands/completion.ts';
import { addConfigCommands } from './commands/config.ts';
import { addFleetCommands } from './commands/fleet.ts';
import { addOperationCommands } from './commands/operations.ts';
import { addReportCommands } from './commands/reports.ts';
import { addSessionCommands } from './commands/session.ts';
import { describeFailure, EXIT } from './failure.ts';
import { readOperations } from './operations.ts';

const AFTER_HELP = `
TOLLGATE_URL and TOLLGATE_TOKEN stand in for a login.
Exit status 0: done and well. 1: answered, but not all is well. 2: refused, not reached, or not understood.`;

const program = new Command('tollgate')
  .description('Administers a Tollgate installation')
  .option('--url <url>', 'origin of the server; TOLLGATE_URL or the last login by default')
  .version(VERSION, '-V, --version')
  .addOption(new Option('--output <format>', 'of answers').choices(['json', 'table', 'csv']))
  .option('--json', 'same as --output json')
  .addHelpText('after', AFTER_HELP)
  .showHelpAfterError('  Fix: add --help to see what there is.')
  .exitOverride();

onReaderGone(process.stdout, () => process.exit());

addSessionCommands(program);
addFleetCommands(program);
addReportCommands(program);
addAuditCommand(program);
addConfigCommands(program);
addOperationCommands(program, readOperations());
addCompletionCommands(program);

try {
  await program.parseAsync();
} catch (error) {
  // Commander has already printed its message, help included.
  if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : EXIT.failed;
  else {
    process.stderr.write(`${describeFailure(error)}\n`);
    process.exitCode = EXIT.failed;
  }
}
