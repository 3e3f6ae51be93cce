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

  /** Null: it is of the whole account. */
  @Column({ type: 'integer', nullable: true })
  keyId: number | null;

  /** `purchases`: what auto-recharge buys counts, and no request. */
  @Column({ type: 'text' })
  of: (typeof BUDGETS_OF)[number];

  /** Set: it counts each of these by itself. */
  @Column({ type: 'text', nullable: true })
  each: ScopeKind | null;

  /** A request that names none is refused. */
  @Column({ type: 'boolean' })
  requiresValue: boolean;

  @Column({ type: 'text' })
  unit: BudgetUnit;

  @Column({ type: 'bigint', transformer: safeIntegerColumn })
  amount: number;

  @Column({ type: 'text' })
  period: BudgetPeriod;

  /** Set where the period is rolling. */
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

  /** Unix seconds at which the current period and those after it begin. */
  @Column({ type: 'bigint', array: true, transformer: secondsColumn })
  starts: number[];

  @CreateDateColumn({ type: 'timestamptz' })
  createdAt: Date;

  /** Counts the changes of the part that the live record carries. */
  @Column({ type: 'timestamptz' })
  updatedAt: Date;

  @Column({ type: 'timestamptz', nullable: true })
  deletedAt: Date | null;
}
