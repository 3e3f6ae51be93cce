import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { ModelFamilyTable } from '../snapshots/model-families.ts';

/** Holds the last import, in at most one row. */
@Entity('model_families')
export class ModelFamiliesRow {
  @PrimaryColumn({ type: 'integer' })
  id: 1;

  @Column({ type: 'jsonb' })
  document: ModelFamilyTable;

  @Column({ type: 'timestamptz' })
  importedAt: Date;
}
