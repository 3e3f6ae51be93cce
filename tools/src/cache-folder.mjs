import { accessSync, constants, existsSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

/** Is the state folder of this checkout. `import.meta.dirname` is younger than Node 20.0, with which a bootstrap may run. */
export const STATE_FOLDER = fileURLToPath(new URL('../../.tollgate', import.meta.url));

/** Returns the folder for what is downloaded once and shared by all checkouts. Falls back to this checkout when the home folder cannot be written. */
export function cacheFolder() {
  if (process.env.TOLLGATE_CACHE) return path.resolve(process.env.TOLLGATE_CACHE);
  const home = homeFolder();
  const base = process.env.XDG_CACHE_HOME ?? path.join(home, '.cache');
  return isWritable(existsSync(base) ? base : home)
    ? path.join(base, 'tollgate')
    : path.join(STATE_FOLDER, 'cache');
}

/** If `HOME` is not set and the user has no entry in /etc/passwd, as in some containers, it returns a path that cannot be written. */
export function homeFolder() {
  try {
    return homedir();
  } catch {
    return path.join(path.sep, 'nonexistent');
  }
}

/**
 * @param {string} folder
 * @returns {boolean}
 */
export function isWritable(folder) {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
