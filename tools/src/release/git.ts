import { execFileSync } from 'node:child_process';
import { ROOT } from '../checkout.ts';

/** Runs git in this checkout and returns its output. */
export function git(...args: string[]): string {
  return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim();
}
