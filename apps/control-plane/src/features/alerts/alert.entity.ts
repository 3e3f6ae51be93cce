import { Column, Entity, PrimaryColumn } from 'typeorm';
import { safeIntegerColumn } from '../../platform/database/columns.ts';
import type { AlertRule, AlertSeverity } from './alert-rules.ts';

@Entity('alerts')
export class Alert {
  @PrimaryColumn({ type: 'bigint', generated: 'identity', transformer: safeIntegerColumn })
  id: number;

  @Column({ type: 'text' })
  rule: AlertRule;

  @Column({ type: 'text' })
  severity: AlertSeverity;

  @Column({ type: 'text' })
  subject: string;

  @Column({ type: 'text' })
  message: string;

  @Column({ type: 'jsonb' })
  detail: Record<string, unknown>;

  @Column({ type: 'timestamptz' })
  raisedAt: Date;

  @Column({ type: 'timestamptz' })
  lastSeenAt: Date;

  @Column({ type: 'timestamptz', nullable: true })
  resolvedAt: Date | null;
}
