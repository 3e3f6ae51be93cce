import { execFileSync } from 'node:child_process';
import { ROOT } from '../checkout.ts';

/** What git says of this checkout. */
export function git(...args: string[]): string {
  return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim();
}
