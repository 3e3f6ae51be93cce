import { existsSync } from 'node:fs';
import path from 'node:path';
import {
  debianFolder,
  downloadDebianPackages,
  libraryFolders,
  type DebianPackages,
} from './debian-packages.mjs';

const FAKETIME: DebianPackages = {
  name: 'faketime',
  wanted: ['libfaketime'],
  known: ['libfaketime'],
};

/** Returns the library that shifts a process' clock when preloaded into it, fetched once. Throws with the reason why it could not be had. */
export async function resolveFaketime(): Promise<string> {
  const cached = findLibrary();
  if (cached !== undefined) return cached;
  const failure = await downloadDebianPackages(FAKETIME);
  const library = findLibrary();
  if (library === undefined)
    throw new Error(
      `No libfaketime: ${failure ?? 'not in its package'}. A clock can only be shifted on Debian or Ubuntu.`,
    );
  return library;
}

function findLibrary(): string | undefined {
  return libraryFolders(debianFolder(FAKETIME))
    .map((folder) => path.join(folder, 'faketime', 'libfaketime.so.1'))
    .find(existsSync);
}
