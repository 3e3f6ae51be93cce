import type { Figures } from '../figures.ts';
import type { BenchInstallation, Floor } from '../installation.ts';

/** A build that is measured. */
export interface Subject {
  label: string;
  installation: BenchInstallation;
  figures: Figures;
}

export interface Stage {
  /** One, or two that are compared: measured in turn within each round. */
  subjects: readonly Subject[];
  floor: Floor;
  rounds: number;
}

export type Scene = (stage: Stage) => Promise<void>;
