import {
  Column,
  CreateDateColumn,
  Entity,
  PrimaryGeneratedColumn,
  UpdateDateColumn,
} from 'typeorm';
import { safeIntegerColumn } from '../../platform/database/columns.ts';

export type SubscriptionStatus = 'active' | 'closing' | 'closed';

/** One permanent row per (user, model). Tokens are charged tokens. */
@Entity('subscriptions')
export class SubscriptionRow {
  @PrimaryGeneratedColumn()
  id: number;

  @Column({ name: 'user_id', type: 'integer' })
  userId: number;

  @Column({ name: 'model_id', type: 'integer' })
  modelId: number;

  @Column({ type: 'text' })
  status: SubscriptionStatus;

  @Column({ type: 'bigint', transformer: safeIntegerColumn })
  balance: number;

  @Column({ type: 'bigint', transformer: safeIntegerColumn })
  overdraft: number;

  @Column({ name: 'credit_seq', type: 'bigint', transformer: safeIntegerColumn })
  creditSeq: number;

  @Column({ type: 'integer' })
  generation: number;

  @Column({ name: 'withdrawal_id', type: 'uuid', nullable: true })
  withdrawalId: string | null;

  @Column({
    name: 'auto_recharge_threshold',
    type: 'bigint',
    nullable: true,
    transformer: safeIntegerColumn,
  })
  autoRechargeThreshold: number | null;

  @Column({
    name: 'auto_recharge_amount',
    type: 'bigint',
    nullable: true,
    transformer: safeIntegerColumn,
  })
  autoRechargeAmount: number | null;

  @Column({ name: 'auto_recharge_retry_at', type: 'timestamptz', nullable: true })
  autoRechargeRetryAt: Date | null;

  @Column({ name: 'auto_recharge_failures', type: 'integer' })
  autoRechargeFailures: number;

  @Column({ type: 'boolean' })
  drain: boolean;

  @Column({ type: 'bigint', transformer: safeIntegerColumn })
  revision: number;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz' })
  createdAt: Date;

  @UpdateDateColumn({ name: 'updated_at', type: 'timestamptz' })
  updatedAt: Date;

  @Column({ name: 'closed_at', type: 'timestamptz', nullable: true })
  closedAt: Date | null;
}
