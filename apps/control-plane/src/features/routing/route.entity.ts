import type { LIMIT_FIELD_SETTINGS } from '@tollgate/snapshot';
import { Column, Entity } from 'typeorm';
import { ChangedRow } from '../../platform/database/row-columns.ts';

@Entity('routes')
export class Route extends ChangedRow {
  @Column({ type: 'integer' })
  modelId: number;

  @Column({ type: 'integer' })
  upstreamId: number;

  /** The upstream's own name of the model. */
  @Column({ type: 'text' })
  upstreamModel: string;

  /** Lowest first. */
  @Column({ type: 'integer' })
  priority: number;

  /** Share within its tier. */
  @Column({ type: 'integer' })
  weight: number;

  @Column({ type: 'boolean' })
  enabled: boolean;

  @Column({ type: 'text' })
  outputLimitField: (typeof LIMIT_FIELD_SETTINGS)[number];

  /** Tokens this route takes; null = as many as the model says. */
  @Column({ type: 'integer', nullable: true })
  contextWindow: number | null;
}
