import { existsSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { NODE, type BenchInstallation } from '../installation.ts';
import type { Scene } from './scene.ts';

const ALLOCATED = path.join(tmpdir(), `tollgate-bench-heap-${process.pid}`);
const KINDS = [
  { name: 'JSON', isStream: false },
  { name: 'stream in one write', isStream: true },
];
const REQUESTS = { requestsMax: 3_000, seconds: 60 };
const POLL_MS = 5;

/** Measures what V8 allocates in a warm node for a request, until its answer: a figure that other load on the machine does not change. */
export const allocated: Scene = async ({ subjects, rounds }) => {
  for (const { installation, figures } of subjects) {
    await installation.restartNode({
      NODE_OPTIONS: `--import=${import.meta.dirname}/../heap-watch.mjs`,
      BENCH_HEAP: ALLOCATED,
    });
    for (const { isStream } of [...KINDS, ...KINDS])
      await installation.load({ ...REQUESTS, isStream });
    for (let round = 0; round < rounds; round += 1)
      for (const { name, isStream } of KINDS) {
        const before = await bytesOf(installation);
        const { requests } = await installation.load({ ...REQUESTS, isStream });
        const bytes = (await bytesOf(installation)) - before;
        figures.add(`${name}: allocated a request`, 'KB', bytes / requests / 1_024);
      }
    await installation.restartNode({ NODE_OPTIONS: undefined, BENCH_HEAP: undefined });
  }
};

async function bytesOf(installation: BenchInstallation): Promise<number> {
  rmSync(ALLOCATED, { force: true });
  process.kill(installation.pidOf(NODE), 'SIGUSR2');
  while (!existsSync(ALLOCATED)) await delay(POLL_MS);
  return Number(readFileSync(ALLOCATED, 'utf8'));
}
