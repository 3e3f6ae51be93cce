import { Figures, type Figure } from './figures.ts';
import { BenchInstallation, startFloor } from './installation.ts';
import { bodies, cold, crowd, door, json, requests, stream } from './scenes/requests.ts';
import { booking, start } from './scenes/processes.ts';
import { burst, idle, latency, quiet } from './scenes/quiet.ts';
import { storage } from './scenes/storage.ts';
import type { Scene, Subject } from './scenes/scene.ts';

export const SCENES = {
  requests,
  json,
  stream,
  cold,
  crowd,
  bodies,
  door,
  quiet,
  idle,
  burst,
  latency,
  booking,
  start,
  storage,
} satisfies Record<string, Scene>;
export type SceneName = keyof typeof SCENES;

export interface RunOptions {
  scenes: readonly SceneName[];
  rounds: number;
  /** Checkouts by label: one, or two that are compared. */
  checkouts: ReadonlyMap<string, string>;
}

/** Runs the scenes on fresh installations, one for each checkout, and audits their books at the end. */
export async function run({
  scenes,
  rounds,
  checkouts,
}: RunOptions): Promise<ReadonlyMap<string, readonly Figure[]>> {
  const floor = await startFloor();
  const subjects: Subject[] = [];
  try {
    for (const [label, checkout] of checkouts) {
      const installation = await BenchInstallation.start({
        checkout,
        upstreamUrl: floor.upstream.url,
      });
      subjects.push({ label, installation, figures: new Figures() });
    }
    // First, as what follows warms the processes up.
    if (scenes.includes('idle')) await SCENES.idle({ subjects, floor, rounds });
    for (const { installation } of subjects) await installation.warmUp();
    for (const scene of scenes) {
      if (scene === 'idle') continue;
      process.stderr.write(`${scene} ...\n`);
      await SCENES[scene]({ subjects, floor, rounds });
    }
    for (const { installation } of subjects) await installation.audit();
    return new Map(subjects.map(({ label, figures }) => [label, figures.all]));
  } finally {
    floor.stop();
    await Promise.all(subjects.map(({ installation }) => installation.stop()));
  }
}
