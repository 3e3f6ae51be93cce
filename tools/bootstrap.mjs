/** `node tools/bootstrap.mjs <command>` leads from a bare checkout to a running command on any Node >= 20. It installs what pnpm-lock.yaml names, as far as the command needs it, then hands over to the pinned Node, which runs tools/src/cli.ts as it is. */
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { homeFolder, isWritable } from './src/cache-folder.mjs';
import { downloadDebianRedis } from './src/embedded/debian-redis.mjs';
import { withLock } from './src/process/checkout-lock.mjs';

// A `packageManager` field would make a frozen install fail, so the version lives here alone.
const PNPM_VERSION = '12.21.0';
const NODE_VERSION = '26.10.0';
const STOP_SIGNALS = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']);
/** Gives interrupted commands this long to end. */
const INTERRUPT_MS = 3_000;

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const binFolder = path.join(root, 'node_modules', '.bin');
const stampFile = path.join(root, 'node_modules', '.tollgate-install');
const node = path.join(binFolder, 'node');

/** Names the extent that runs the product: `dependencies` of all packages, of which tests and benches have none but the audit. The other extents only check and test. */
const RUNTIME = 'runtime';
const EVERYTHING = 'everything';
const RUNTIME_COMMANDS = new Set(['start', 'stop', 'seed', 'doctor', 'ops', 'size', 'tollgate']);
// The install trusts the lockfile as the rest of the checkout is trusted: every archive must have its hash. `npm run check` asks the
// registry about age and address of each package, which is 210 MB of answers.
// No filter: with one pnpm takes three to four times as long from an empty store (73 s instead of 16 s).
const INSTALL_OPTIONS = {
  [RUNTIME]: ['--prod'],
  [EVERYTHING]: ['--prod=false'],
};

/** Describes a problem that the reader can fix, and how. */
class Unusable extends Error {
  /**
   * @param {string} problem
   * @param {string} fix
   */
  constructor(problem, fix) {
    super(`${problem}\n  Fix: ${fix}`);
  }
}

/** Ends by a signal, which the user has seen already. */
class Interrupted extends Error {}

main().catch((error) => {
  if (error instanceof Interrupted) return;
  console.error(`\n${error instanceof Unusable ? error.message : error.stack}`);
  process.exitCode = 1;
});

async function main() {
  if (Number(process.versions.node.split('.')[0]) < 20)
    throw new Unusable(`Node ${process.versions.node} is too old.`, 'Install Node 20 or newer.');
  const args = process.argv.slice(2);
  const extent = needsTests(args) ? EVERYTHING : RUNTIME;
  const preparing = new AbortController();
  if (!isInstalled(extent)) {
    for (const signal of STOP_SIGNALS) process.on(signal, () => interrupt(preparing, signal));
    if (needsRedis(args[0])) void downloadDebianRedis(preparing.signal).catch(() => {});
    try {
      await withLock(
        path.join(root, '.tollgate', 'install.lock'),
        () => install(extent, preparing.signal),
        () => console.log('Waiting for another install in this checkout ...'),
      );
    } catch (error) {
      preparing.abort();
      throw error;
    }
    for (const signal of STOP_SIGNALS) process.removeAllListeners(signal);
  }
  handOver(args);
}

/**
 * The audit of a running installation reads its databases with what its start installed; a load starts one of its own.
 * @param {string[]} args
 */
function needsTests([command = '', ...options]) {
  if (command === 'audit') return options.some((option) => option.startsWith('--load'));
  return !RUNTIME_COMMANDS.has(command);
}

/**
 * Handles Ctrl-C or SIGTERM before there is a start: ends the install and the download, which are processes of their own, and waits for
 * their end, so that the next command does not install beside them.
 * @param {AbortController} preparing
 * @param {NodeJS.Signals} signal
 */
function interrupt(preparing, signal) {
  process.exitCode = 128 + os.constants.signals[signal];
  if (preparing.signal.aborted) process.exit();
  console.error('\nInterrupted. The next command continues with the installation.');
  preparing.abort();
  setTimeout(() => process.exit(), INTERRUPT_MS).unref();
}

/**
 * Returns true if a start may have to fetch Redis, which then continues beside the install. Without a result: the start looks itself, waits
 * for a download that is in progress, and says what failed.
 * @param {string | undefined} command
 */
function needsRedis(command) {
  if (!['start', 'dev'].includes(command ?? '') || process.env.REDIS_URL) return false;
  const folders = (process.env.PATH ?? '').split(path.delimiter).filter(path.isAbsolute);
  return !folders.some((folder) =>
    ['redis-server', 'valkey-server'].some((name) => existsSync(path.join(folder, name))),
  );
}

/** @param {string} extent */
function isInstalled(extent) {
  const stamp = readStamp();
  return stamp.fingerprint === fingerprint() && [extent, EVERYTHING].includes(stamp.extent);
}

/** Returns the stamp of the last complete install. */
function readStamp() {
  if (!existsSync(stampFile)) return { fingerprint: '', extent: extentByHand() };
  const [fingerprint = '', extent = ''] = readFileSync(stampFile, 'utf8').split(' ');
  return { fingerprint, extent };
}

/** Returns the extent of an install that was interrupted or done by hand: pnpm notes whether it brought development's packages, too. */
function extentByHand() {
  const notes = path.join(root, 'node_modules', '.modules.yaml');
  const hasEverything =
    existsSync(notes) && /"?devDependencies"?: true/.test(readFileSync(notes, 'utf8'));
  return hasEverything ? EVERYTHING : RUNTIME;
}

/** Hashes everything that decides what an install puts in place; the platform too, for a checkout shared between a host and a container. */
function fingerprint() {
  const hash = createHash('sha256').update(
    `${NODE_VERSION} ${PNPM_VERSION} ${process.platform} ${process.arch}`,
  );
  for (const file of ['pnpm-lock.yaml', 'pnpm-workspace.yaml', '.npmrc', ...manifests()]) {
    const full = path.join(root, file);
    if (existsSync(full)) hash.update(`\0${file}\0`).update(readFileSync(full));
  }
  return hash.digest('hex');
}

function manifests() {
  const folders = ['apps', 'libs', 'tests'].flatMap((parent) =>
    existsSync(path.join(root, parent))
      ? readdirSync(path.join(root, parent))
          .sort()
          .map((name) => path.join(parent, name))
      : [],
  );
  return ['.', 'tools', 'bench', ...folders].map((folder) => path.join(folder, 'package.json'));
}

/**
 * @param {string} wanted
 * @param {AbortSignal} signal ends it
 */
async function install(wanted, signal) {
  if (isInstalled(wanted)) return;
  // A checkout that has everything keeps everything, whatever its next command is.
  const extent = readStamp().extent === EVERYTHING ? EVERYTHING : wanted;
  // Nothing counts as installed while it is replaced: an interrupted install is done again.
  rmSync(stampFile, { force: true });
  const result = await withClock('Installing dependencies', () =>
    run(
      'npx',
      [
        '--yes',
        `pnpm@${PNPM_VERSION}`,
        'install',
        '--frozen-lockfile',
        '--trust-lockfile',
        ...INSTALL_OPTIONS[extent],
      ],
      signal,
    ),
  );
  if (signal.aborted) throw new Interrupted();
  if (result.code !== 0) {
    console.error(result.output);
    throw new Unusable(
      'Installing dependencies failed (output above).',
      'Check that npm can reach its registry, and that package.json and pnpm-lock.yaml belong together; then run the command again.',
    );
  }
  checkNode();
  writeFileSync(stampFile, `${fingerprint()} ${extent}`);
}

/**
 * Says what is in progress and how long it took; in a terminal also how long so far, in place.
 * @param {string} name
 * @param {() => Promise<{ code: number | null, output: string }>} work
 */
async function withClock(name, work) {
  const startedAtMs = Date.now();
  const seconds = () => ((Date.now() - startedAtMs) / 1000).toFixed(1);
  const isTerminal = process.stdout.isTTY;
  console.log(isTerminal ? '' : `...   ${name}`);
  const draw = () => process.stdout.write(`\u001b[1A\r\u001b[2K...   ${name} ${seconds()} s\n`);
  const clock = isTerminal ? setInterval(draw, 250) : undefined;
  const result = await work();
  clearInterval(clock);
  if (isTerminal) process.stdout.write('\u001b[1A\r\u001b[2K');
  console.log(`${result.code === 0 ? 'ok  ' : 'FAIL'}  ${name}  (${seconds()} s)`);
  return result;
}

/**
 * Runs a command in a process group of its own: what it starts ends with it.
 * @param {string} command
 * @param {string[]} args
 * @param {AbortSignal} signal
 * @returns {Promise<{ code: number | null, output: string }>}
 */
function run(command, args, signal) {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      cwd: root,
      env: installEnvironment(),
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    const end = () => child.pid && process.kill(-child.pid, 'SIGTERM');
    signal.addEventListener('abort', end);
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (bytes) => (output += bytes));
    child.on('error', (error) => resolve({ code: null, output: output + error.message }));
    child.on('close', (code) => {
      signal.removeEventListener('abort', end);
      resolve({ code, output });
    });
  });
}

function installEnvironment() {
  // CI=true makes pnpm never ask. NODE_ENV=production would omit the compiler.
  const env = { ...process.env, CI: 'true' };
  delete env.NODE_ENV;
  if (!isWritable(homeFolder())) {
    env.HOME = path.join(root, '.tollgate', 'home');
    mkdirSync(env.HOME, { recursive: true });
  }
  return env;
}

/** A platform package that does not exist is dropped by pnpm without a message, so the result is checked. */
function checkNode() {
  const result = spawnSync(node, ['-v'], { encoding: 'utf8' });
  if (result.status === 0 && result.stdout.trim() === `v${NODE_VERSION}`) return;
  throw new Unusable(
    `Node ${NODE_VERSION} from npm does not run on this machine (${process.platform} ${process.arch}): ${result.error?.message ?? (result.stderr || result.stdout).trim()}`,
    'Tollgate runs on glibc Linux and macOS, x64 and arm64. On Alpine or another musl system use the container images (docker-compose.yml).',
  );
}

/** @param {string[]} args */
function handOver(args) {
  const env = {
    ...process.env,
    PATH: `${binFolder}${path.delimiter}${process.env.PATH ?? ''}`,
    // Compiled code is kept between runs, the apps' too: a warm start takes half the time.
    NODE_COMPILE_CACHE:
      process.env.NODE_COMPILE_CACHE ?? path.join(root, '.tollgate', 'compile-cache'),
  };
  const child = spawn(
    node,
    ['--disable-warning=ExperimentalWarning', path.join(root, 'tools', 'src', 'cli.ts'), ...args],
    { stdio: 'inherit', env },
  );
  // The child decides when to end. After Ctrl-C it may see the signal twice, from the terminal and from here: it treats both as one.
  for (const signal of STOP_SIGNALS) process.on(signal, () => child.kill(signal));
  child.on('error', (error) => {
    console.error(
      `\nThe installed Node does not start: ${error.message}\n  Fix: Delete node_modules and run the command again.`,
    );
    process.exit(1);
  });
  child.on('exit', (code, signal) =>
    process.exit(code ?? 128 + (os.constants.signals[signal ?? 'SIGKILL'] ?? 9)),
  );
}
