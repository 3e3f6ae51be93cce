import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const REQUIREMENTS = path.resolve(import.meta.dirname, '../python/requirements.txt');
const OLDEST = [3, 10] as const;

/** The interpreter of an environment below `folder` that has the Python clients; null, with the reason on the console, where it cannot be made. */
export function preparePython(folder: string): string | null {
  const wanted = readFileSync(REQUIREMENTS, 'utf8');
  const mark = path.join(folder, 'requirements.txt');
  const python = path.join(folder, 'bin/python');
  if (existsSync(mark) && readFileSync(mark, 'utf8') === wanted) return python;
  const system = process.env['PYTHON'] ?? 'python3';
  if (!isNewEnough(system)) {
    console.log(
      `Python ${OLDEST.join('.')} or later was not found: the Python clients are left out. PYTHON names another interpreter.`,
    );
    return null;
  }
  console.log(`Fetching the Python clients into ${folder} ...`);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(path.dirname(folder), { recursive: true });
  const isMade =
    succeeds(system, ['-m', 'venv', folder]) &&
    succeeds(python, [
      '-m',
      'pip',
      'install',
      '--quiet',
      '--disable-pip-version-check',
      '-r',
      REQUIREMENTS,
    ]);
  if (!isMade) {
    console.log(
      'The Python clients could not be installed and are left out; run it again with the network.',
    );
    return null;
  }
  writeFileSync(mark, wanted);
  return python;
}

function isNewEnough(python: string): boolean {
  const check = `import sys, venv; sys.exit(sys.version_info < (${OLDEST.join(', ')}))`;
  return succeeds(python, ['-c', check], 'ignore');
}

function succeeds(
  program: string,
  args: readonly string[],
  stdio: 'inherit' | 'ignore' = 'inherit',
): boolean {
  return spawnSync(program, args, { stdio }).status === 0;
}
