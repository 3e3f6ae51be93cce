import { Figures, type Figure } from './figures.ts';
import { BenchInstallation, startYardstick } from './installation.ts';
import { bodies, cold, crowd, door, floor, json, requests, stream } from './scenes/requests.ts';
import { backlog, booking, workers } from './scenes/capacity.ts';
import { start } from './scenes/processes.ts';
import { allocated } from './scenes/allocated.ts';
import { burst, idle, latency, quiet, steady } from './scenes/quiet.ts';
import { keys, models } from './scenes/scale.ts';
import { forEachSubject, type Scene, type Sizes, type Subject } from './scenes/scene.ts';
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
  steady,
  booking,
  start,
  storage,
  streams,
  keys,
  models,
  workers,
  backlog,
  upstreams,
  floor,
  allocated,
} satisfies Record<string, Scene>;
/** They take many minutes, are a part of `requests`, or leave an installation that others should not be measured on: run only by name. */
export const LARGE: ReadonlySet<string> = new Set<SceneName>([
  'json',
  'stream',
  'floor',
  'streams',
  'keys',
  'models',
  'workers',
  'backlog',
  'upstreams',
  'allocated',
]);
export type SceneName = keyof typeof SCENES;

export interface Build {
  checkout: string;
  /** Adds to the node's environment in every installation of the bench. */
  env?: Readonly<Record<string, string>>;
  /** Adds to the control plane's environment likewise. */
  controlPlaneEnv?: Readonly<Record<string, string>>;
}

export interface RunOptions {
  scenes: readonly SceneName[];
  rounds: number;
  sizes: Sizes;
  /** Holds what is measured, by label: one build, or several that are compared. */
  builds: ReadonlyMap<string, Build>;
  /** Is true when they work at the same time; else one after the other within each round. */
  isAtOnce: boolean;
}

/** Runs the scenes on fresh installations, one for each build, and audits their books at the end. */
export async function run({
  scenes,
  rounds,
  sizes,
  builds,
  isAtOnce,
}: RunOptions): Promise<ReadonlyMap<string, readonly Figure[]>> {
  const shared = await startYardstick();
  const subjects: Subject[] = [];
  try {
    for (const [label, build] of builds) {
      const installation = await BenchInstallation.start({
        ...build,
        upstreamUrl: shared.upstream.url,
      });
      subjects.push({ label, installation, figures: new Figures() });
    }
    // This scene is first, as what follows warms the processes up.
    const stage = { subjects, yardstick: shared, rounds, sizes, isAtOnce };
    if (scenes.includes('idle')) await SCENES.idle(stage);
    await forEachSubject(stage, ({ installation }) => installation.warmUp());
    for (const scene of scenes) {
      if (scene === 'idle') continue;
      process.stderr.write(`${scene} ...\n`);
      await SCENES[scene](stage);
    }
    for (const { installation } of subjects) await installation.audit();
    return new Map(subjects.map(({ label, figures }) => [label, figures.all]));
  } finally {
    shared.stop();
    await Promise.all(subjects.map(({ installation }) => installation.stop()));
  }
}
