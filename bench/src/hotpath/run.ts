import { Figures, type Figure } from './figures.ts';
import { BenchInstallation, startFloor } from './installation.ts';
import { bodies, cold, crowd, door, json, requests, stream } from './scenes/requests.ts';
import { backlog, workers } from './scenes/capacity.ts';
import { booking, start } from './scenes/processes.ts';
import { burst, idle, latency, quiet } from './scenes/quiet.ts';
import { keys, models } from './scenes/scale.ts';
import type { Scene, Sizes, Subject } from './scenes/scene.ts';
import { storage } from './scenes/storage.ts';
import { streams } from './scenes/streams.ts';
import { upstreams } from './scenes/upstreams.ts';

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
  streams,
  keys,
  models,
  workers,
  backlog,
  upstreams,
} satisfies Record<string, Scene>;
/** They take many minutes, or leave an installation that others should not be measured on: run only by name. */
export const LARGE: ReadonlySet<string> = new Set<SceneName>([
  'streams',
  'keys',
  'models',
  'workers',
  'backlog',
  'upstreams',
]);
export type SceneName = keyof typeof SCENES;

export interface RunOptions {
  scenes: readonly SceneName[];
  rounds: number;
  sizes: Sizes;
  /** Checkouts by label: one, or two that are compared. */
  checkouts: ReadonlyMap<string, string>;
}

/** Runs the scenes on fresh installations, one for each checkout, and audits their books at the end. */
export async function run({
  scenes,
  rounds,
  sizes,
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
    const stage = { subjects, floor, rounds, sizes };
    if (scenes.includes('idle')) await SCENES.idle(stage);
    for (const { installation } of subjects) await installation.warmUp();
    for (const scene of scenes) {
      if (scene === 'idle') continue;
      process.stderr.write(`${scene} ...\n`);
      await SCENES[scene](stage);
    }
    for (const { installation } of subjects) await installation.audit();
    return new Map(subjects.map(({ label, figures }) => [label, figures.all]));
  } finally {
    floor.stop();
    await Promise.all(subjects.map(({ installation }) => installation.stop()));
  }
}
