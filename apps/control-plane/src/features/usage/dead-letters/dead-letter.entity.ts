import { Column, Entity, PrimaryColumn } from 'typeorm';
import { safeIntegerColumn } from '../../../platform/database/columns.ts';

export const RESOLUTIONS = ['booked', 'duplicate', 'dismissed'] as const;
/** `booked` is in the usage rows now; `duplicate` was there already; `dismissed` means that an administrator decided not to book it. */
export type Resolution = (typeof RESOLUTIONS)[number];

/** Holds an event that could not be booked, as it arrived. */
@Entity('usage_dead_letters')
export class DeadLetterRow {
  @PrimaryColumn({ type: 'bigint', generated: 'identity', transformer: safeIntegerColumn })
  id: number;

  @Column({ type: 'text' })
  rid: string;

  @Column({ type: 'text' })
  seq: string;

  @Column({ type: 'text' })
  delta: string;

  @Column({ type: 'text' })
  payload: string;

  @Column({ type: 'text' })
  reason: string;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  @Column({ type: 'timestamptz', nullable: true })
  resolvedAt: Date | null;

  @Column({ type: 'text', nullable: true })
  resolution: Resolution | null;

  @Column({ type: 'integer', nullable: true })
  resolvedBy: number | null;

  @Column({ type: 'text', nullable: true })
  note: string | null;
}
