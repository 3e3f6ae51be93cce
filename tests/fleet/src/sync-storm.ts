import {
  createRoutedModel,
  type SyncResult,
  type Tollgate,
  until,
  letPass,
} from '@tollgate/harness';
import { randomFrom } from '@tollgate/audit';
import { z } from 'zod';

const readiness = z.looseObject({ snapshot_version: z.number().nullable() });
const DOWN_MAX_MS = 400;
const UP_MAX_MS = 1_500;
const OUTCOMES = new Set(['applied', 'offline', 'timeout', 'failed']);

export interface StormOptions {
  /** Counts administrators who change something and press sync, all at the same time. */
  administrators: number;
  /** Is the number of times that each does it. */
  rounds: number;
  seed: number;
}

export interface StormReport {
  answers: number;
  applied: number;
  otherwise: number;
  restarts: number;
  /** Lists every answer that turned out wrong. */
  lies: string[];
}

/**
 * Administrators change the configuration and sync while nodes are killed and restarted at random. An answer is true when each node it calls
 * applied serves that version or a later one whenever it serves, from the answer on: asked of the node's own process.
 */
export async function syncStorm(
  tollgate: Tollgate,
  { administrators, rounds, seed }: StormOptions,
): Promise<StormReport> {
  const report: StormReport = { answers: 0, applied: 0, otherwise: 0, restarts: 0, lies: [] };
  const urls = new Map(tollgate.nodeUrls.map((url, index) => [`node-${index + 1}`, url]));
  let isOver = false;
  const random = randomFrom(seed);
  const restarting = Promise.all(
    [...urls.keys()].map((name) =>
      restartAtRandom(tollgate, name, {
        random,
        isOver: () => isOver,
        onRestart: () => (report.restarts += 1),
      }),
    ),
  );
  const administrator = async (): Promise<void> => {
    for (let round = 0; round < rounds; round += 1) {
      await createRoutedModel(tollgate, { protocols: ['openai'] });
      await judge(await tollgate.admin.syncAll(), urls, report);
    }
  };
  try {
    await Promise.all(Array.from({ length: administrators }, administrator));
  } finally {
    isOver = true;
    await restarting;
  }
  return report;
}

async function judge(
  { version, nodes }: SyncResult,
  urls: ReadonlyMap<string, string>,
  report: StormReport,
): Promise<void> {
  report.answers += 1;
  if (nodes.length !== urls.size)
    report.lies.push(`an answer about ${nodes.length} nodes of ${urls.size}`);
  for (const node of nodes) {
    if (!OUTCOMES.has(node.outcome)) report.lies.push(`${node.name}: outcome ${node.outcome}`);
    if (node.outcome !== 'applied') {
      report.otherwise += 1;
      continue;
    }
    report.applied += 1;
    const served = await servedVersion(urls.get(node.name) ?? '');
    if (served < version)
      report.lies.push(
        `${node.name} was called applied at version ${version} and serves ${served}`,
      );
  }
}

/** Waits out a restart: a process that does not listen serves nothing. */
async function servedVersion(url: string): Promise<number> {
  let version: number | null = null;
  await until(
    `an answer of ${url}`,
    async () => {
      const answer = await fetch(`${url}/readyz`).catch(() => undefined);
      if (!answer) return false;
      version = readiness.parse(await answer.json()).snapshot_version;
      return true;
    },
    60_000,
  );
  return version ?? 0;
}

async function restartAtRandom(
  tollgate: Tollgate,
  name: string,
  {
    random,
    isOver,
    onRestart,
  }: { random: () => number; isOver: () => boolean; onRestart: () => void },
): Promise<void> {
  while (!isOver()) {
    await tollgate.kill(name, random() < 0.5 ? 'SIGKILL' : 'SIGTERM');
    await letPass(random() * DOWN_MAX_MS, 'the process stays down');
    await tollgate.restart(name);
    onRestart();
    await letPass(random() * UP_MAX_MS, 'the process serves between two restarts');
  }
}
