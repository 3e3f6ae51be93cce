import type { Figures } from '../figures.ts';
import type { BenchInstallation, Floor } from '../installation.ts';

/** A build that is measured. */
export interface Subject {
  label: string;
  installation: BenchInstallation;
  figures: Figures;
}

/** How large the scenes are that stand for a large installation. */
export interface Sizes {
  streams: number;
  keys: number;
  models: number;
  records: number;
}

export interface Stage {
  /** One, or two that are compared: measured in turn within each round. */
  subjects: readonly Subject[];
  floor: Floor;
  rounds: number;
  sizes: Sizes;
}

export type Scene = (stage: Stage) => Promise<void>;
