import { Column, CreateDateColumn, Entity, PrimaryColumn } from 'typeorm';
import { safeIntegerColumn } from '../../platform/database/columns.ts';

@Entity('snapshots')
export class Snapshot {
  /** The version is named `id` for the list helpers, as in every other row. */
  @PrimaryColumn({
    name: 'version',
    type: 'bigint',
    generated: 'identity',
    transformer: safeIntegerColumn,
  })
  id: number;

  @Column({ type: 'text' })
  checksum: string;

  /** Is a `SnapshotDocument` as it was published; every reader parses it, since an older release may have written it. */
  @Column({ type: 'jsonb' })
  document: object;

  @Column({ type: 'bigint', nullable: true, transformer: safeIntegerColumn })
  rollbackOf: number | null;

  @Column({ type: 'integer', nullable: true })
  createdBy: number | null;

  @CreateDateColumn({ type: 'timestamptz' })
  createdAt: Date;
}
