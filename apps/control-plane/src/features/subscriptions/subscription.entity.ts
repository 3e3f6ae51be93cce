import { Column, Entity } from 'typeorm';
import { safeIntegerColumn } from '../../platform/database/columns.ts';
import { ChangedRow } from '../../platform/database/row-columns.ts';

export type SubscriptionStatus = 'active' | 'closing' | 'closed';

/** Has one permanent row per (user, model). Tokens are charged tokens. */
@Entity('subscriptions')
export class SubscriptionRow extends ChangedRow {
  @Column({ type: 'integer' })
  userId: number;

  @Column({ type: 'integer' })
  modelId: number;

  @Column({ type: 'text' })
  status: SubscriptionStatus;

  @Column({ type: 'bigint', transformer: safeIntegerColumn })
  balance: number;

  @Column({ type: 'bigint', transformer: safeIntegerColumn })
  overdraft: number;

  @Column({ type: 'bigint', transformer: safeIntegerColumn })
  creditSeq: number;

  @Column({ type: 'integer' })
  generation: number;

  @Column({ type: 'uuid', nullable: true })
  withdrawalId: string | null;

  @Column({
    type: 'bigint',
    nullable: true,
    transformer: safeIntegerColumn,
  })
  autoRechargeThreshold: number | null;

  @Column({
    type: 'bigint',
    nullable: true,
    transformer: safeIntegerColumn,
  })
  autoRechargeAmount: number | null;

  @Column({ type: 'timestamptz', nullable: true })
  autoRechargeRetryAt: Date | null;

  @Column({ type: 'integer' })
  autoRechargeFailures: number;

  @Column({ type: 'boolean' })
  drain: boolean;

  @Column({ type: 'bigint', transformer: safeIntegerColumn })
  revision: number;

  @Column({ type: 'timestamptz', nullable: true })
  closedAt: Date | null;
}
