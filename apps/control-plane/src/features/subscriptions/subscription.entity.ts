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

  @CreateDateColumn({ type: 'timestamptz' })
  createdAt: Date;

  @UpdateDateColumn({ type: 'timestamptz' })
  updatedAt: Date;

  @Column({ type: 'timestamptz', nullable: true })
  closedAt: Date | null;
}
