import { accessSync, constants, statfsSync } from 'node:fs';
import { connect } from 'node:net';
import path from 'node:path';
import { cacheFolder, ROOT, STATE_FOLDER } from '../checkout.ts';
import { locatePostgres } from '../embedded/postgres-binaries.ts';
import { resolveRedis } from '../embedded/resolve-redis.ts';
import { assertNamed, serviceUser } from '../embedded/service-user.ts';
import { isFree } from '../process/free-port.ts';
import { readLivePid } from '../process/pid-file.ts';
import { postgresFolder } from '../stack/services.ts';
import { runFolder } from '../stack/stack.ts';
import { readStartFile } from '../stack/start-file.ts';
import { SUPERVISOR } from '../process/supervisor.ts';

const FREE_BYTES_MIN = 1024 ** 3;
const CONNECT_TIMEOUT_MS = 3_000;
const FRONT_DOOR_PORT = 8080;

interface Examination {
  name: string;
  /** Resolves with the finding; throws with the problem. */
  look: () => Promise<string>;
  fix: string;
}

const EXAMINATIONS: readonly Examination[] = [
  {
    name: 'Node',
    look: async () => `${process.version} (${process.platform} ${process.arch})`,
    fix: 'Delete node_modules and run the command again.',
  },
  {
    name: 'state folder',
    look: async () => writable(STATE_FOLDER),
    fix: `Make ${ROOT} writable for this user, or use a checkout of your own.`,
  },
  { name: 'disk space', look: freeSpace, fix: 'Free at least 1 GB on this disk.' },
  {
    name: 'PostgreSQL',
    look: postgres,
    fix: 'Start the server DATABASE_URL names, or unset DATABASE_URL to use the embedded one.',
  },
  {
    name: 'Redis',
    look: redis,
    fix: 'Start the server REDIS_URL names, or install redis-server 7 or newer.',
  },
  { name: 'front door port', look: frontDoorPort, fix: 'Choose another one: PORT=9000 npm start' },
  {
    name: 'running stack',
    look: runningStack,
    fix: 'npm stop, then npm start; the logs are in .tollgate/logs.',
  },
];

/** Runs `npm run doctor`: it shows what this machine offers, and the remedy for every problem. */
export async function doctor(): Promise<number> {
  let failures = 0;
  for (const { name, look, fix } of EXAMINATIONS) {
    try {
      console.log(`ok    ${name}: ${await look()}`);
    } catch (error) {
      failures += 1;
      console.log(`FAIL  ${name}: ${(error as Error).message}\n      Fix: ${fix}`);
    }
  }
  return failures === 0 ? 0 : 1;
}

async function writable(folder: string): Promise<string> {
  accessSync(folder, constants.R_OK | constants.W_OK);
  return folder;
}

async function freeSpace(): Promise<string> {
  const { bavail, bsize } = statfsSync(ROOT);
  const gigabytes = `${((bavail * bsize) / 1024 ** 3).toFixed(1)} GB free`;
  if (bavail * bsize < FREE_BYTES_MIN) throw new Error(`only ${gigabytes}`);
  return gigabytes;
}

async function postgres(): Promise<string> {
  if (process.env.DATABASE_URL) return reach('DATABASE_URL', process.env.DATABASE_URL, 5432);
  const user = serviceUser();
  assertNamed(user);
  return `embedded (${locatePostgres(user).postgres}), data in ${path.dirname(postgresFolder(STATE_FOLDER))}`;
}

async function redis(): Promise<string> {
  if (process.env.REDIS_URL) return reach('REDIS_URL', process.env.REDIS_URL, 6379);
  return `${(await resolveRedis()).server} (downloads go to ${cacheFolder()})`;
}

/** Tries to reach the server. It never prints the URL itself, because it contains a password. */
function reach(variable: string, text: string, defaultPort: number): Promise<string> {
  const { hostname, port } = new URL(text);
  const address = `${hostname}:${port || defaultPort}`;
  return new Promise((resolve, reject) => {
    const socket = connect({
      host: hostname,
      port: Number(port) || defaultPort,
      timeout: CONNECT_TIMEOUT_MS,
    });
    const fail = (problem: string): void => {
      socket.destroy();
      reject(new Error(`${variable} names ${address}: ${problem}`));
    };
    socket.on('connect', () => {
      socket.destroy();
      resolve(`${address} (from ${variable}) accepts connections`);
    });
    socket.on('timeout', () => fail('no answer'));
    socket.on('error', (error) => fail(error.message));
  });
}

async function frontDoorPort(): Promise<string> {
  if (readLivePid(runFolder(STATE_FOLDER), SUPERVISOR)) return 'in use by this checkout';
  const wanted = Number(process.env.PORT) || FRONT_DOOR_PORT;
  if (await isFree(wanted)) return `${wanted} is free`;
  if (process.env.PORT) throw new Error(`${wanted} is taken`);
  return `${wanted} is taken, another one will be chosen`;
}

async function runningStack(): Promise<string> {
  if (!readLivePid(runFolder(STATE_FOLDER), SUPERVISOR)) return 'not running';
  const running = readStartFile(STATE_FOLDER);
  if (!running) return 'starting';
  for (const url of [
    running.adminUrl,
    ...running.proxyUrls,
    running.baseUrl,
    running.upstreamUrl,
  ]) {
    const response = await fetch(`${url}/readyz`, {
      signal: AbortSignal.timeout(CONNECT_TIMEOUT_MS),
    }).catch((error: Error) => error);
    if (response instanceof Error || !response.ok)
      throw new Error(
        `${url}/readyz answers ${response instanceof Error ? response.message : response.status}`,
      );
  }
  return `ready at ${running.baseUrl}`;
}
