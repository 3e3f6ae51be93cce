import {
  Column,
  CreateDateColumn,
  Entity,
  PrimaryGeneratedColumn,
  type ValueTransformer,
} from 'typeorm';
import type { ScopeKind } from '@tollgate/keyspace';
import { safeIntegerColumn, toSafeInteger } from '../../platform/database/columns.ts';
import type { BudgetUnit, BUDGET_ACTIONS, BUDGETS_OF } from './budgets.dto.ts';
import type { BudgetPeriod } from './calendar.ts';

const secondsColumn: ValueTransformer = {
  from: (values: string[]): number[] => values.map(toSafeInteger),
  to: (values: unknown): unknown => values,
};

@Entity('budgets')
export class BudgetRow {
  @PrimaryGeneratedColumn()
  id: number;

  @Column({ type: 'integer' })
  userId: number;

  /** Is null for a budget of the whole account. */
  @Column({ type: 'integer', nullable: true })
  keyId: number | null;

  /** `purchases` counts what auto-recharge buys, and no request. */
  @Column({ type: 'text' })
  of: (typeof BUDGETS_OF)[number];

  /** Is set for a budget that counts each session or end user separately. */
  @Column({ type: 'text', nullable: true })
  each: ScopeKind | null;

  /** Is true when a request that names no session or end user is refused. */
  @Column({ type: 'boolean' })
  requiresValue: boolean;

  @Column({ type: 'text' })
  unit: BudgetUnit;

  @Column({ type: 'bigint', transformer: safeIntegerColumn })
  amount: number;

  @Column({ type: 'text' })
  period: BudgetPeriod;

  /** Is set only where the budget's period is rolling. */
  @Column({ type: 'integer', nullable: true })
  windowMinutes: number | null;

  @Column({ type: 'text' })
  timeZone: string;

  @Column({ type: 'text' })
  models: string;

  @Column({ type: 'text' })
  action: (typeof BUDGET_ACTIONS)[number];

  @Column({ type: 'smallint', array: true })
  notifyAt: number[];

  @Column({ type: 'boolean' })
  isOfAdministrator: boolean;

  /** Lists the starts of the current period and the following ones, in Unix seconds. */
  @Column({ type: 'bigint', array: true, transformer: secondsColumn })
  starts: number[];

  @CreateDateColumn({ type: 'timestamptz' })
  createdAt: Date;

  /** Is the time since which it counts the requests that it counts now: its creation, or the last change of its models. */
  @Column({ type: 'timestamptz' })
  definedAt: Date;

  /** Is the version of the part that the live record carries. */
  @Column({ type: 'timestamptz' })
  updatedAt: Date;

  @Column({ type: 'timestamptz', nullable: true })
  deletedAt: Date | null;
}
