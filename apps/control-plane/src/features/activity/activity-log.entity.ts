import { Column, Entity, PrimaryColumn } from 'typeorm';
import { safeIntegerColumn } from '../../platform/database/columns.ts';

/** Maps the append-only log for reading. Only ActivityService writes it. */
@Entity('activity_log')
export class ActivityLogEntry {
  @PrimaryColumn({ type: 'bigint', transformer: safeIntegerColumn }) id!: number;
  @Column({ type: 'timestamptz' }) at!: Date;
  @Column({ type: 'integer', nullable: true }) actorUserId!: number | null;
  @Column({ type: 'text', nullable: true }) actorName!: string | null;
  @Column({ type: 'text' }) action!: string;
  @Column({ type: 'text' }) targetKind!: string;
  @Column({ type: 'text', nullable: true }) targetId!: string | null;
  @Column({ type: 'jsonb', nullable: true }) before!: unknown;
  @Column({ type: 'jsonb', nullable: true }) after!: unknown;
  @Column({ type: 'text', nullable: true }) address!: string | null;
  @Column({ type: 'text', nullable: true }) requestId!: string | null;
  @Column({ type: 'integer', nullable: true }) tokenId!: number | null;
}
