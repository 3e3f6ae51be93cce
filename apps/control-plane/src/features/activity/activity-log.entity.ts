import { Column, Entity, PrimaryColumn } from 'typeorm';
import { safeIntegerColumn } from '../../platform/database/columns.ts';

/** Read side of the append-only log; only ActivityService writes it. */
@Entity('activity_log')
export class ActivityLogEntry {
  @PrimaryColumn({ type: 'bigint', transformer: safeIntegerColumn }) id!: number;
  @Column({ type: 'timestamptz' }) at!: Date;
  @Column({ name: 'actor_user_id', type: 'integer', nullable: true }) actorUserId!: number | null;
  @Column({ name: 'actor_name', type: 'text', nullable: true }) actorName!: string | null;
  @Column({ type: 'text' }) action!: string;
  @Column({ name: 'target_kind', type: 'text' }) targetKind!: string;
  @Column({ name: 'target_id', type: 'text', nullable: true }) targetId!: string | null;
  @Column({ type: 'jsonb', nullable: true }) before!: unknown;
  @Column({ type: 'jsonb', nullable: true }) after!: unknown;
  @Column({ type: 'text', nullable: true }) address!: string | null;
  @Column({ name: 'request_id', type: 'text', nullable: true }) requestId!: string | null;
  @Column({ name: 'token_id', type: 'integer', nullable: true }) tokenId!: number | null;
}
