import type { LIMIT_FIELD_SETTINGS } from '@tollgate/snapshot';
import { Column, Entity } from 'typeorm';
import { ChangedRow } from '../../platform/database/row-columns.ts';

@Entity('routes')
export class Route extends ChangedRow {
  @Column({ type: 'integer' })
  modelId: number;

  @Column({ type: 'integer' })
  upstreamId: number;

  /** Is the upstream's own name of the model. */
  @Column({ type: 'text' })
  upstreamModel: string;

  /** Orders the routes; nodes try the lowest first. */
  @Column({ type: 'integer' })
  priority: number;

  /** Is the share of requests within a priority. */
  @Column({ type: 'integer' })
  weight: number;

  @Column({ type: 'boolean' })
  enabled: boolean;

  @Column({ type: 'text' })
  outputLimitField: (typeof LIMIT_FIELD_SETTINGS)[number];

  /** Is the context window of this route in tokens; null for the model's. */
  @Column({ type: 'integer', nullable: true })
  contextWindow: number | null;
}
