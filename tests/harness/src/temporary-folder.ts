import { chmodSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { isReachable, serviceUser, sharedFolder } from '@tollgate/tools';

/** A folder for what tests leave behind that the user PostgreSQL runs as can reach. */
export function temporaryBase(): string {
  return isReachable(path.join(tmpdir(), 'x'), serviceUser()) ? tmpdir() : sharedFolder();
}

/** A new folder of one suite. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(path.join(temporaryBase(), 'tollgate-test-'));
  chmodSync(folder, 0o755);
  return folder;
}
