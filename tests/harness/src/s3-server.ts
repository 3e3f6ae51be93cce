import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { cacheFolder, findFreePort } from '@tollgate/tools';
import { until } from '@tollgate/tools';

const VERSION = '5.2.1';
const INSTALL_MS = 300_000;
const READY_MS = 30_000;
const MAIN = 'import sys; from moto.server import main; main(sys.argv[1:])';

export interface S3Server {
  endpoint: string;
  stop: () => Promise<void>;
}

/** Starts the S3 server of the Python package `moto`, on 127.0.0.1, with one empty bucket. Throws without pip. */
export async function startS3Server(bucket: string): Promise<S3Server> {
  const port = await findFreePort();
  const endpoint = `http://127.0.0.1:${port}`;
  const child = spawn('python3', ['-c', MAIN, '-H', '127.0.0.1', '-p', String(port)], {
    env: { ...process.env, PYTHONPATH: motoFolder() },
    stdio: 'ignore',
  });
  const stop = async (): Promise<void> => {
    if (child.exitCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  };
  const makeBucket = async (): Promise<boolean | undefined> => {
    if (child.exitCode !== null) throw new Error('The S3 server ended while starting.');
    return (await fetch(`${endpoint}/${bucket}`, { method: 'PUT' }).catch(() => null))?.ok;
  };
  try {
    await until('the S3 server makes a bucket', makeBucket, READY_MS);
  } catch (error) {
    await stop();
    throw error;
  }
  return { endpoint, stop };
}

/** Returns the folder of moto, which is in the cache after the first time. */
function motoFolder(): string {
  const folder = path.join(cacheFolder(), 'moto', VERSION);
  if (existsSync(folder)) return folder;
  mkdirSync(path.dirname(folder), { recursive: true });
  const work = mkdtempSync(`${folder}.`);
  try {
    const pip = ['-m', 'pip', 'install', '--quiet', '--no-warn-conflicts'];
    execFileSync('python3', [...pip, '--target', work, `moto[s3,server]==${VERSION}`], {
      stdio: ['ignore', 'ignore', 'inherit'],
      timeout: INSTALL_MS,
    });
    renameSync(work, folder);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  return folder;
}
