import { weightFields } from '@tollgate/contracts';
import type { PriceTier } from '@tollgate/snapshot';
import { Column, CreateDateColumn, Entity, PrimaryGeneratedColumn } from 'typeorm';
import { bigintColumn, safeIntegerColumn } from '../../platform/database/columns.ts';

/** Weights in millionths, one column for each charged class; null where the parent's weight holds. */
export type PriceWeightValues = ReturnType<typeof weightFields<number, number | null>>;

class PriceWeights {}
for (const [name, nullable] of Object.entries(weightFields(false, true)))
  Column({ type: 'bigint', transformer: safeIntegerColumn, nullable })(
    PriceWeights.prototype,
    name,
  );

/** Immutable: the database refuses updates and deletes. */
@Entity('price_versions')
export class PriceVersionRow {
  @PrimaryGeneratedColumn()
  id: number;

  @Column({ type: 'integer' })
  modelId: number;

  /** Micro-units per million charged tokens. */
  @Column({ type: 'bigint', transformer: bigintColumn })
  pricePerMillion: bigint;

  @Column(() => PriceWeights, { prefix: false })
  weights: PriceWeightValues;

  /** Declared to charge nothing. False with a price of zero: of a release before declarations, so the model counts as not priced. */
  @Column({ type: 'boolean' })
  isFree: boolean;

  /** Millionths by premium, e.g. `service_tier=priority`. */
  @Column({ type: 'jsonb' })
  multipliers: Record<string, number>;

  /** Weights in millionths, ascending by their thresholds. */
  @Column({ type: 'jsonb' })
  tiers: PriceTier[];

  @Column({ type: 'timestamptz' })
  effectiveAt: Date;

  @Column({ type: 'integer', nullable: true })
  createdBy: number | null;

  @CreateDateColumn({ type: 'timestamptz' })
  createdAt: Date;
}
