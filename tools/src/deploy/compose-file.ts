import { spawnSync } from 'node:child_process';
import { ROOT } from '../checkout.ts';

/**
 * Returns the complaints of Docker Compose's own loader (compose-go) about docker-compose.yml. Values, volumes and networks
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
