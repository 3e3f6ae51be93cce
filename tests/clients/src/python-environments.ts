import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/** Each file has the clients of one environment: most share one, and a client whose dependencies contradict those of others has its own. */
export const PYTHON_REQUIREMENTS = path.resolve(import.meta.dirname, '../python/requirements');
const OLDEST = [3, 10] as const;
const QUIETLY = ['--quiet', '--disable-pip-version-check'];

/** Returns the interpreter that makes the environments; null, with the reason on the console, where there is none. */
export function systemPython(): string | null {
  const system = process.env['PYTHON'] ?? 'python3';
  const check = `import sys, venv; sys.exit(sys.version_info < (${OLDEST.join(', ')}))`;
  if (succeeds(system, ['-c', check], 'ignore')) return system;
  console.log(
    `Python ${OLDEST.join('.')} or later was not found: the Python clients are left out. PYTHON names another interpreter.`,
  );
  return null;
}

/** Makes below `folder` the environment of each list of clients, named after it. Returns false, with the reason on the console, where one cannot be made. */
export function preparePython(folder: string): boolean {
  return (
    readdirSync(PYTHON_REQUIREMENTS).every((file) =>
      prepare(path.join(folder, path.parse(file).name), path.join(PYTHON_REQUIREMENTS, file)),
    ) && SUITES.every((sdk) => fetchSources(path.join(folder, 'suites'), sdk))
  );
}

/** Names SDKs whose own test suites run against a node. The others' packages on npm have no tests. */
const SUITES = ['openai', 'anthropic'] as const;
export type Suite = (typeof SUITES)[number];

/** Returns the folder of an SDK's sources, which have its test suite. */
export function sourcesOf(environment: string, sdk: Suite): string {
  const list = readFileSync(path.join(PYTHON_REQUIREMENTS, 'suites.txt'), 'utf8');
  const version = new RegExp(`^${sdk}==(.+)$`, 'm').exec(list)?.[1] ?? '';
  return path.join(environment, 'sources', `${sdk}-${version}`);
}

function fetchSources(environment: string, sdk: Suite): boolean {
  const sources = sourcesOf(environment, sdk);
  if (existsSync(sources)) return true;
  const [folder, name] = [path.dirname(sources), path.basename(sources)];
  const python = pythonOf(environment);
  const wanted = ['--no-deps', '--no-binary', ':all:', '--dest', folder, name.replace('-', '==')];
  const isFetched =
    succeeds(python, ['-m', 'pip', 'download', ...QUIETLY, ...wanted]) &&
    succeeds('tar', ['-xzf', path.join(folder, `${name}.tar.gz`), '-C', folder]);
  if (!isFetched) rmSync(sources, { recursive: true, force: true });
  return isFetched;
}

/** Returns the interpreter of an environment. */
export function pythonOf(folder: string): string {
  return path.join(folder, 'bin/python');
}

function prepare(folder: string, requirements: string): boolean {
  const wanted = readFileSync(requirements, 'utf8');
  const mark = path.join(folder, 'requirements.txt');
  if (existsSync(mark) && readFileSync(mark, 'utf8') === wanted) return true;
  const system = systemPython();
  if (system === null) return false;
  console.log(`Fetching the Python clients into ${folder} ...`);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(path.dirname(folder), { recursive: true });
  const pip = ['-m', 'pip', 'install', ...QUIETLY];
  const isMade =
    succeeds(system, ['-m', 'venv', folder]) &&
    succeeds(pythonOf(folder), [...pip, '-r', requirements]);
  if (isMade) writeFileSync(mark, wanted);
  else
    console.log(
      `The Python clients of ${requirements} could not be installed and are left out. With the network, pip says above what is in the way: clients that contradict each other need lists of their own.`,
    );
  return isMade;
}

function succeeds(
  program: string,
  args: readonly string[],
  stdio: 'inherit' | 'ignore' = 'inherit',
): boolean {
  return spawnSync(program, args, { stdio }).status === 0;
}
