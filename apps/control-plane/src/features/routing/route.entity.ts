import type { LIMIT_FIELD_SETTINGS } from '@tollgate/snapshot';
import {
  Column,
  CreateDateColumn,
  Entity,
  PrimaryGeneratedColumn,
  UpdateDateColumn,
} from 'typeorm';

@Entity('routes')
export class Route {
  @PrimaryGeneratedColumn('identity', { type: 'integer' })
  id: number;

  @Column({ name: 'model_id', type: 'integer' })
  modelId: number;

  @Column({ name: 'upstream_id', type: 'integer' })
  upstreamId: number;

  /** The upstream's own name of the model. */
  @Column({ name: 'upstream_model', type: 'text' })
  upstreamModel: string;

  /** Lowest first. */
  @Column({ type: 'integer' })
  priority: number;

  /** Share within its tier. */
  @Column({ type: 'integer' })
  weight: number;

  @Column({ type: 'boolean' })
  enabled: boolean;

  @Column({ name: 'output_limit_field', type: 'text' })
  outputLimitField: (typeof LIMIT_FIELD_SETTINGS)[number];

  /** Tokens this route takes; null = as many as the model says. */
  @Column({ name: 'context_window', type: 'integer', nullable: true })
  contextWindow: number | null;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz' })
  createdAt: Date;

  @UpdateDateColumn({ name: 'updated_at', type: 'timestamptz' })
  updatedAt: Date;
}
