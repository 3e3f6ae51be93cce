import { execFileSync } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import path from 'node:path';
import { ROOT, STATE_FOLDER } from './checkout.ts';

/** Makes a worktree of another commit of this repository, installed and built by its own tools; it is kept for the next time. Throws where the commit is not known. */
export function checkOut(ref: string): string {
  const commit = git('rev-parse', `${ref}^{commit}`);
  const folder = path.join(STATE_FOLDER, 'compared', commit);
  if (!existsSync(path.join(folder, 'apps', 'proxy-node', 'dist'))) {
    rmSync(folder, { recursive: true, force: true });
    git('worktree', 'prune');
    git('worktree', 'add', '--detach', folder, commit);
    execFileSync('npm', ['run', 'build'], { cwd: folder, stdio: ['ignore', 2, 2] });
  }
  return folder;
}

function git(...args: readonly string[]): string {
  return execFileSync('git', args, {
    cwd: ROOT,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  }).trim();
}
