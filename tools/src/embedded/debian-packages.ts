import { spawn } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
} from 'node:fs';
import path from 'node:path';
import { cacheFolder } from '../checkout.ts';
import { packageManagerEnvironment } from './install-redis.ts';

const COMMAND_TIMEOUT_MS = 90_000;

export interface DebianPackages {
  /** Names the folder in the cache. */
  name: string;
  /** Asked for; apt adds what they need and this system lacks. */
  wanted: readonly string[];
  /** Only used when apt cannot work that out itself, as on a machine whose own package state is broken. */
  known: readonly string[];
}

/** Where the packages are, or would be, unpacked. */
export function debianFolder({ name }: Pick<DebianPackages, 'name'>): string {
  return path.join(cacheFolder(), name, `${distribution()}-${process.arch}`);
}

/**
 * Fetches the distribution's own packages with apt in private folders and unpacks them into the cache: nothing is installed,
 * no right is needed, and the signatures are checked as ever. Returns why it failed otherwise.
 */
export async function downloadDebianPackages(
  packages: DebianPackages,
): Promise<string | undefined> {
  if (process.platform !== 'linux' || !existsSync('/etc/debian_version'))
    return 'not a Debian or Ubuntu';
  const root = debianFolder(packages);
  mkdirSync(path.dirname(root), { recursive: true });
  const work = mkdtempSync(`${root}.`);
  try {
    await fetchPackages(work, packages);
    const unpacked = path.join(work, 'root');
    for (const file of debFiles(work, packages))
      await run('dpkg-deb', ['-x', file, unpacked], work);
    rmSync(root, { recursive: true, force: true });
    renameSync(unpacked, root);
  } catch (error) {
    // Another start may have put its copy in place meanwhile.
    if (!existsSync(root)) return (error as Error).message;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  return undefined;
}

/** Every folder with shared objects: the architecture's own (`usr/lib/x86_64-linux-gnu`) need not be known by name. */
export function libraryFolders(root: string): string[] {
  return ['lib', 'usr/lib']
    .map((folder) => path.join(root, folder))
    .filter(existsSync)
    .flatMap((folder) => [folder, ...architectureFolders(folder)]);
}

function architectureFolders(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('-linux-gnu'))
    .map((name) => path.join(folder, name));
}

/** e.g. `debian-12`: a home folder can be shared by machines of different releases. */
function distribution(): string {
  const text = existsSync('/etc/os-release') ? readFileSync('/etc/os-release', 'utf8') : '';
  const field = (name: string): string =>
    new RegExp(`^${name}="?([\\w.]+)`, 'm').exec(text)?.[1] ?? 'unknown';
  return `${field('ID')}-${field('VERSION_ID')}`;
}

async function fetchPackages(work: string, { wanted, known }: DebianPackages): Promise<void> {
  for (const folder of ['lists/partial', 'archives/partial', 'state'])
    mkdirSync(path.join(work, folder), { recursive: true });
  const options = aptOptions(work);
  await run('apt-get', [...options, 'update'], work);
  try {
    // apt leaves out what this system already has. Asked to reinstall, it also fetches what is installed but not on PATH.
    await run(
      'apt-get',
      [
        ...options,
        '--download-only',
        '--reinstall',
        '--no-install-recommends',
        '-y',
        'install',
        ...wanted,
      ],
      work,
    );
  } catch {
    for (const name of known)
      await run('apt-get', [...options, 'download', name], path.join(work, 'archives')).catch(
        () => {},
      );
  }
}

function aptOptions(work: string): string[] {
  const settings = [
    `Dir::State::Lists=${work}/lists`,
    `Dir::State::extended_states=${work}/state/extended_states`,
    `Dir::Cache=${work}`,
    `Dir::Cache::archives=${work}/archives`,
    'Debug::NoLocking=1',
    // As root, apt would fetch as user _apt, which cannot reach a cache below a private home folder.
    'APT::Sandbox::User=',
    'Acquire::Languages=none',
    'Acquire::Retries=2',
    'Acquire::http::Timeout=20',
    'Acquire::https::Timeout=20',
  ];
  return ['-qq', ...settings.flatMap((setting) => ['-o', setting])];
}

function debFiles(work: string, { wanted }: DebianPackages): string[] {
  const folder = path.join(work, 'archives');
  const files = readdirSync(folder).filter((file) => file.endsWith('.deb'));
  if (!files.some((file) => wanted.some((name) => file.startsWith(`${name}_`))))
    throw new Error(`apt fetched no ${wanted[0]}`);
  return files.map((file) => path.join(folder, file));
}

/** Asynchronous, so that PostgreSQL and the build go on meanwhile. */
function run(command: string, args: readonly string[], cwd: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd,
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: COMMAND_TIMEOUT_MS,
      env: packageManagerEnvironment(),
    });
    let errors = '';
    child.stderr.on('data', (bytes) => (errors += bytes));
    child.on('error', (error) => reject(new Error(`${command}: ${error.message}`)));
    child.on('close', (code) =>
      code === 0
        ? resolve()
        : reject(
            new Error(
              `${command} ended with ${code ?? 'a timeout'}: ${errors.trim().split('\n').at(-1)}`,
            ),
          ),
    );
  });
}
