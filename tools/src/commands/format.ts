import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { BIN_FOLDER, ROOT } from '../checkout.ts';

/** Runs `npm run format`: it writes every file as the formatter prints it (.oxfmtrc.json). */
export async function format(args: readonly string[]): Promise<number> {
  const { status } = spawnSync(path.join(BIN_FOLDER, 'oxfmt'), args, {
    cwd: ROOT,
    stdio: 'inherit',
  });
  return status ?? 1;
}
