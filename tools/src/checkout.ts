import path from 'node:path';

export { cacheFolder, STATE_FOLDER } from './cache-folder.mjs';

/** Is the root of this checkout. Everything that outlives a command is below `.tollgate/`, which git ignores. */
export const ROOT = path.resolve(import.meta.dirname, '..', '..');
export const BIN_FOLDER = path.join(ROOT, 'node_modules', '.bin');

export type AppName = 'control-plane' | 'proxy-node' | 'front-door' | 'demo-upstream';

/** Returns the entry of an app. `checkout` names another checkout whose build is used for comparisons. */
export function appEntry(app: AppName, checkout: string = ROOT): string {
  return path.join(checkout, 'apps', app, 'dist', 'main.js');
}
