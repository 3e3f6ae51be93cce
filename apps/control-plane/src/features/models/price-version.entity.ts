import { weightFields } from '@tollgate/contracts';
import type { PriceTier } from '@tollgate/snapshot';
import { Column, CreateDateColumn, Entity, PrimaryGeneratedColumn } from 'typeorm';
import { bigintColumn, safeIntegerColumn } from '../../platform/database/columns.ts';

/** Holds weights in millionths, one column for each charged class; null where the parent's weight applies. */
export type PriceWeightValues = ReturnType<typeof weightFields<number, number | null>>;

class PriceWeights {}
for (const [name, nullable] of Object.entries(weightFields(false, true)))
  Column({ type: 'bigint', transformer: safeIntegerColumn, nullable })(
    PriceWeights.prototype,
    name,
  );

/** Is immutable: the database refuses updates and deletes. */
@Entity('price_versions')
export class PriceVersionRow {
  @PrimaryGeneratedColumn()
  id: number;

  @Column({ type: 'integer' })
  modelId: number;

  /** Is the price in micro-units per million charged tokens. */
  @Column({ type: 'bigint', transformer: bigintColumn })
  pricePerMillion: bigint;

  @Column(() => PriceWeights, { prefix: false })
  weights: PriceWeightValues;

  /** Is true when the price was declared free. A price of zero that is not declared counts as missing. */
  @Column({ type: 'boolean' })
  isFree: boolean;

  /** Holds multipliers in millionths by premium, for example `service_tier=priority`. */
  @Column({ type: 'jsonb' })
  multipliers: Record<string, number>;

  /** Holds tiers with weights in millionths, ascending by threshold. */
  @Column({ type: 'jsonb' })
  tiers: PriceTier[];

  @Column({ type: 'timestamptz' })
  effectiveAt: Date;

  @Column({ type: 'integer', nullable: true })
  createdBy: number | null;

  @CreateDateColumn({ type: 'timestamptz' })
  createdAt: Date;
}
