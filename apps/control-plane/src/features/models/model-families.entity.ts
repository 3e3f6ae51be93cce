import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { ModelFamilyTable } from '../snapshots/model-families.ts';

/** One row at most: the last import. */
@Entity('model_families')
export class ModelFamiliesRow {
  @PrimaryColumn({ type: 'integer' })
  id: 1;

  @Column({ type: 'jsonb' })
  document: ModelFamilyTable;

  @Column({ type: 'timestamptz' })
  importedAt: Date;
}
