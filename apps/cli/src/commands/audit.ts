import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import type { Command } from 'commander';
import { EXIT, UsageError } from '../failure.ts';

/** The audit reads the databases directly, so it runs where they are: in a checkout. */
export function addAuditCommand(program: Command): void {
  program
    .command('audit')
    .description('prove that all books agree (npm run audit of this checkout)')
    .argument('[arguments...]', 'see tollgate audit --help')
    .helpOption(false)
    .allowUnknownOption()
    .action(async (args: string[]) => void (process.exitCode = await audit(args)));
}

async function audit(args: readonly string[]): Promise<number> {
  const root = path.resolve(import.meta.dirname, '../../../..');
  const bootstrap = path.join(root, 'tools', 'bootstrap.mjs');
  if (!existsSync(bootstrap))
    throw new UsageError(
      'The audit needs the databases and a checkout of Tollgate; this is an installation without one.',
    );
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [bootstrap, 'audit', ...args], {
      stdio: 'inherit',
      cwd: root,
    });
    child.on('error', reject);
    child.on('exit', (code) => resolve(code ?? EXIT.failed));
  });
}
