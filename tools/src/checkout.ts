import { homedir } from 'node:os';
import path from 'node:path';
import { accessSync, constants, existsSync } from 'node:fs';

/** Where things are in this checkout. Everything that outlives a command is below `.tollgate/`, which git ignores. */
export const ROOT = path.resolve(import.meta.dirname, '..', '..');
export const STATE_FOLDER = path.join(ROOT, '.tollgate');
export const BIN_FOLDER = path.join(ROOT, 'node_modules', '.bin');

export type AppName = 'control-plane' | 'proxy-node' | 'front-door' | 'demo-upstream';

/** `checkout`: another one's build, for comparisons. */
export function appEntry(app: AppName, checkout: string = ROOT): string {
  return path.join(checkout, 'apps', app, 'dist', 'main.js');
}

/** For what is downloaded once and shared by all checkouts. Falls back to this checkout when the home folder cannot be written. */
export function cacheFolder(): string {
  if (process.env.TOLLGATE_CACHE) return path.resolve(process.env.TOLLGATE_CACHE);
  const base = process.env.XDG_CACHE_HOME ?? path.join(homedir(), '.cache');
  return isWritable(existsSync(base) ? base : homedir())
    ? path.join(base, 'tollgate')
    : path.join(STATE_FOLDER, 'cache');
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
