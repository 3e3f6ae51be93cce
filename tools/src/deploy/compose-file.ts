import { spawnSync } from 'node:child_process';
import { ROOT } from '../checkout.ts';

/**
 * What Docker Compose's own loader (compose-go) finds in docker-compose.yml that is not of the Compose specification. Values, volumes and networks
 * are compared by tools/check/deploy.spec.ts.
 */
export function composeProblems(loader: string): string[] {
  const { status, stderr, error } = spawnSync(
    loader,
    ['--no-interpolation', 'docker-compose.yml'],
    {
      cwd: ROOT,
      encoding: 'utf8',
      env: { PATH: process.env.PATH },
    },
  );
  if (error) return [error.message];
  return status === 0 ? [] : stderr.split('\n').filter((line) => line.trim() !== '');
}
