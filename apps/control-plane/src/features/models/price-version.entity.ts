import { Column, CreateDateColumn, Entity, PrimaryGeneratedColumn } from 'typeorm';
import { bigintColumn, safeIntegerColumn } from '../../platform/database/columns.ts';

/** Immutable: the database refuses updates and deletes. */
@Entity('price_versions')
export class PriceVersionRow {
  @PrimaryGeneratedColumn()
  id: number;

  @Column({ name: 'model_id', type: 'integer' })
  modelId: number;

  /** Micro-units per million charged tokens. */
  @Column({ name: 'price_per_million', type: 'bigint', transformer: bigintColumn })
  pricePerMillion: bigint;

  /** Weights in millionths. */
  @Column({ name: 'weight_input', type: 'bigint', transformer: safeIntegerColumn })
  weightInput: number;

  @Column({ name: 'weight_output', type: 'bigint', transformer: safeIntegerColumn })
  weightOutput: number;

  @Column({ name: 'weight_cache_read', type: 'bigint', transformer: safeIntegerColumn })
  weightCacheRead: number;

  @Column({ name: 'weight_cache_write', type: 'bigint', transformer: safeIntegerColumn })
  weightCacheWrite: number;

  /** Declared to charge nothing. False with a price of zero: of a release before declarations, so the model counts as not priced. */
  @Column({ name: 'is_free', type: 'boolean' })
  isFree: boolean;

  /** Millionths by premium, e.g. `service_tier=priority`. */
  @Column({ type: 'jsonb' })
  multipliers: Record<string, number>;

  @Column({ name: 'effective_at', type: 'timestamptz' })
  effectiveAt: Date;

  @Column({ name: 'created_by', type: 'integer', nullable: true })
  createdBy: number | null;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz' })
  createdAt: Date;
}
