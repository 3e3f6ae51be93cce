import { spawn } from 'node:child_process';
import path from 'node:path';
import { ROOT, STATE_FOLDER } from '../checkout.ts';
import { opsEnvironment } from '../embedded/postgres-roles.ts';
import { findInstallation } from '../stack/find-installation.ts';
import { loadSecrets } from '../stack/secrets.ts';

/** Runs `npm run ops -- COMMAND`: `tollgate-ops` for the installation of this checkout; `init` makes the secrets of another one. */
export function ops(args: readonly string[]): Promise<number> {
  const installation = args[0] === 'init' ? {} : environmentOf(findInstallation(process.env));
  const program = path.join(ROOT, 'deploy', 'tollgate-ops');
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      stdio: 'inherit',
      env: {
        ...process.env,
        ...installation,
        PATH: `${path.dirname(process.execPath)}:${process.env.PATH}`,
      },
    });
    child.on('error', reject);
    child.on('exit', (code) => resolve(code ?? 1));
  });
}

function environmentOf({
  databaseUrls,
  redisUrl,
}: ReturnType<typeof findInstallation>): NodeJS.ProcessEnv {
  return {
    ENCRYPTION_KEY: process.env.ENCRYPTION_KEY ?? loadSecrets(STATE_FOLDER).encryption,
    ...opsEnvironment(databaseUrls),
    REDIS_URL: redisUrl,
  };
}
