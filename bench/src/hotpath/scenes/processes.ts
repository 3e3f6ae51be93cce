import { setTimeout as delay } from 'node:timers/promises';
import { memoryMb } from '../cpu.ts';
import { NODE } from '../installation.ts';
import type { Scene } from './scene.ts';

const STARTS = 3;
const POLL_MS = 10;

/** Measures the time from the start of a node's process until it listens and until it serves. */
export const start: Scene = async ({ subjects }) => {
  for (let round = 0; round < STARTS; round += 1)
    for (const { installation, figures } of subjects) {
      await installation.tollgate.kill(NODE, 'SIGTERM');
      const startedAt = performance.now();
      const [listeningMs] = await Promise.all([
        firstAnswer(`${installation.nodeUrl}/healthz`, startedAt),
        installation.restartNode(),
      ]);
      figures.add('node start: listens', 'ms', listeningMs);
      figures.add('node start: serves', 'ms', performance.now() - startedAt);
      figures.add(
        'memory of a node right after its start',
        'MB',
        memoryMb(installation.pidOf(NODE)),
      );
    }
};

async function firstAnswer(url: string, startedAt: number): Promise<number> {
  for (;;) {
    const isThere = await fetch(url).then(
      () => true,
      () => false,
    );
    if (isThere) return performance.now() - startedAt;
    await delay(POLL_MS);
  }
}
