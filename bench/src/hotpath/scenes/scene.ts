import type { Figures } from '../figures.ts';
import type { BenchInstallation, Yardstick } from '../installation.ts';

/** Is a build that is measured. */
export interface Subject {
  label: string;
  installation: BenchInstallation;
  figures: Figures;
}

/** Sets the size of the scenes that represent a large installation. */
export interface Sizes {
  streams: number;
  keys: number;
  models: number;
  records: number;
}

export interface Stage {
  /** Holds one build, or two that are compared within each round. */
  subjects: readonly Subject[];
  /** Is true when the builds that are compared work at the same time instead of in turn: then both see the same machine at every moment. */
  isAtOnce: boolean;
  yardstick: Yardstick;
  rounds: number;
  sizes: Sizes;
}

export type Scene = (stage: Stage) => Promise<void>;

/** Measures each build, in turn or all at once. */
export async function forEachSubject(
  { subjects, isAtOnce }: Stage,
  measure: (subject: Subject) => Promise<void>,
): Promise<void> {
  if (isAtOnce) await Promise.all(subjects.map(measure));
  else for (const subject of subjects) await measure(subject);
}
