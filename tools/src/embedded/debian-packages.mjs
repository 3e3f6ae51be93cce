import { spawn } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import path from 'node:path';
import { cacheFolder } from '../cache-folder.mjs';

const COMMAND_TIMEOUT_MS = 90_000;
const ABANDONED_AFTER_MS = 3_600_000;

/**
 * `name` names the folder in the cache. `wanted` is asked for; apt adds what they need and this system lacks. `known` is only used
 * when apt cannot work that out itself, as on a machine whose own package state is broken.
 * @typedef {{ name: string, wanted: readonly string[], known: readonly string[] }} DebianPackages
 */

/**
 * Returns the folder in which the packages are, or would be, unpacked.
 * @param {Pick<DebianPackages, 'name'>} packages
 */
export function debianFolder({ name }) {
  return path.join(cacheFolder(), name, `${distribution()}-${process.arch}`);
}

/**
 * Fetches the distribution's own packages with apt in private folders and unpacks them into the cache: nothing is installed,
 * no right is needed, and the signatures are checked as ever. Returns why it failed otherwise.
 * @param {DebianPackages} packages
 * @param {AbortSignal} [signal] ends the download
 * @returns {Promise<string | undefined>}
 */
export async function downloadDebianPackages(packages, signal) {
  if (process.platform !== 'linux' || !existsSync('/etc/debian_version'))
    return 'not a Debian or Ubuntu';
  const root = debianFolder(packages);
  mkdirSync(path.dirname(root), { recursive: true });
  removeAbandoned(root);
  const work = mkdtempSync(`${root}.`);
  const run = runner(signal);
  try {
    await fetchPackages(work, packages, run);
    const unpacked = path.join(work, 'root');
    for (const file of debFiles(work, packages))
      await run('dpkg-deb', ['-x', file, unpacked], work);
    rmSync(root, { recursive: true, force: true });
    renameSync(unpacked, root);
  } catch (error) {
    // Another start may have put its copy in place meanwhile.
    if (!existsSync(root)) return error instanceof Error ? error.message : String(error);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  return undefined;
}

/**
 * Removes work folders of downloads that were killed, as by Ctrl-C during an install. Those of the last hour may be in use.
 * @param {string} root
 */
function removeAbandoned(root) {
  for (const name of readdirSync(path.dirname(root))) {
    const folder = path.join(path.dirname(root), name);
    if (!folder.startsWith(`${root}.`)) continue;
    const since = statSync(folder, { throwIfNoEntry: false });
    if (since && Date.now() - since.mtimeMs > ABANDONED_AFTER_MS)
      rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Returns every folder with shared objects: the architecture's own (`usr/lib/x86_64-linux-gnu`) need not be known by name.
 * @param {string} root
 * @returns {string[]}
 */
export function libraryFolders(root) {
  return ['lib', 'usr/lib']
    .map((folder) => path.join(root, folder))
    .filter(existsSync)
    .flatMap((folder) => [folder, ...architectureFolders(folder)]);
}

/** @param {string} folder */
function architectureFolders(folder) {
  return readdirSync(folder)
    .filter((name) => name.endsWith('-linux-gnu'))
    .map((name) => path.join(folder, name));
}

/** Returns text such as `debian-12`: a home folder can be shared by machines of different releases. */
function distribution() {
  const text = existsSync('/etc/os-release') ? readFileSync('/etc/os-release', 'utf8') : '';
  const field = (/** @type {string} */ name) =>
    new RegExp(`^${name}="?([\\w.]+)`, 'm').exec(text)?.[1] ?? 'unknown';
  return `${field('ID')}-${field('VERSION_ID')}`;
}

/**
 * @param {string} work
 * @param {DebianPackages} packages
 * @param {ReturnType<typeof runner>} run
 */
async function fetchPackages(work, { wanted, known }, run) {
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

/** @param {string} work */
function aptOptions(work) {
  const settings = [
    `Dir::State::Lists=${work}/lists`,
    `Dir::State::extended_states=${work}/state/extended_states`,
    `Dir::Cache=${work}`,
    `Dir::Cache::archives=${work}/archives`,
    'Debug::NoLocking=1',
    // For root, apt would fetch as user _apt, which cannot reach a cache below a private home folder.
    'APT::Sandbox::User=',
    'Acquire::Languages=none',
    'Acquire::Retries=2',
    'Acquire::http::Timeout=20',
    'Acquire::https::Timeout=20',
  ];
  return ['-qq', ...settings.flatMap((setting) => ['-o', setting])];
}

/**
 * @param {string} work
 * @param {DebianPackages} packages
 */
function debFiles(work, { wanted }) {
  const folder = path.join(work, 'archives');
  const files = readdirSync(folder).filter((file) => file.endsWith('.deb'));
  if (!files.some((file) => wanted.some((name) => file.startsWith(`${name}_`))))
    throw new Error(`apt fetched no ${wanted[0]}`);
  return files.map((file) => path.join(folder, file));
}

/**
 * Runs asynchronously, so that what installs, builds and starts continues meanwhile.
 * @param {AbortSignal | undefined} signal
 * @returns {(command: string, args: readonly string[], cwd: string) => Promise<void>}
 */
function runner(signal) {
  return (command, args, cwd) =>
    new Promise((resolve, reject) => {
      const child = spawn(command, args, {
        cwd,
        stdio: ['ignore', 'ignore', 'pipe'],
        timeout: COMMAND_TIMEOUT_MS,
        env: packageManagerEnvironment(),
        ...(signal && { signal }),
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

/**
 * Package managers live in the system's folders, and call what else is there, whatever PATH says.
 * @returns {NodeJS.ProcessEnv}
 */
export function packageManagerEnvironment() {
  const folders = [
    process.env.PATH,
    '/usr/local/sbin',
    '/usr/local/bin',
    '/usr/sbin',
    '/usr/bin',
    '/sbin',
    '/bin',
  ];
  return {
    ...process.env,
    PATH: folders.filter(Boolean).join(':'),
    DEBIAN_FRONTEND: 'noninteractive',
    LC_ALL: 'C',
  };
}
