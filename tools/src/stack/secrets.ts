import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/** Holds secrets that are drawn once per installation, each for one purpose (security S12), in base64url. */
export interface Secrets {
  jwt: string;
  /** Has 32 bytes. */
  encryption: string;
  fleet: string;
  postgres: string;
  redis: string;
  adminPassword: string;
  userPassword: string;
}

const SECRET_BYTES = 32;
/** Is short, as people type it now and then. */
const PASSWORD_BYTES = 15;

export function drawSecrets(): Secrets {
  const draw = (bytes = SECRET_BYTES): string => randomBytes(bytes).toString('base64url');
  return {
    jwt: draw(),
    encryption: draw(),
    fleet: draw(),
    postgres: draw(),
    redis: draw(),
    adminPassword: draw(PASSWORD_BYTES),
    userPassword: draw(PASSWORD_BYTES),
  };
}

/** Returns the stored secrets of this installation; draws and stores them (mode 0600) on the first call. */
export function loadSecrets(stateFolder: string): Secrets {
  const file = path.join(stateFolder, 'secrets.json');
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Secrets;
  } catch (error) {
    // A file that is there but unreadable must not be replaced: the data are sealed with what is in it.
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
      throw new Error(`${file} cannot be read: ${(error as Error).message}`, { cause: error });
  }
  const secrets = drawSecrets();
  mkdirSync(stateFolder, { recursive: true });
  writeFileSync(file, `${JSON.stringify(secrets, null, 2)}\n`, { mode: 0o600, flush: true });
  return secrets;
}
