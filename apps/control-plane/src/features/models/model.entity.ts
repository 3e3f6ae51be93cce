import type { FailoverSettings } from '@tollgate/snapshot';
import {
  Column,
  CreateDateColumn,
  Entity,
  PrimaryGeneratedColumn,
  UpdateDateColumn,
} from 'typeorm';

export type ModelKind = 'chat' | 'embedding';

@Entity('models')
export class ModelRow {
  @PrimaryGeneratedColumn()
  id: number;

  @Column({ type: 'text' })
  name: string;

  /** Further names clients may call it by; no two living models share one, as name or alias. */
  @Column({ type: 'text', array: true })
  aliases: string[];

  @Column({ name: 'display_name', type: 'text' })
  displayName: string;

  @Column({ type: 'text' })
  kind: ModelKind;

  @Column({ name: 'owned_by', type: 'text' })
  ownedBy: string;

  @Column({ type: 'text' })
  description: string;

  @Column({ name: 'context_window', type: 'integer', nullable: true })
  contextWindow: number | null;

  @Column({ name: 'max_output_tokens', type: 'integer', nullable: true })
  maxOutputTokens: number | null;

  @Column({ name: 'default_output_tokens', type: 'integer', nullable: true })
  defaultOutputTokens: number | null;

  @Column({ name: 'unbounded_input_tokens', type: 'integer', nullable: true })
  unboundedInputTokens: number | null;

  @Column({ name: 'is_on_shelf', type: 'boolean' })
  isOnShelf: boolean;

  /** It searches or reads by itself. */
  @Column({ name: 'reads_more_than_sent', type: 'boolean', default: false })
  readsMoreThanSent: boolean;

  @Column({ type: 'jsonb' })
  failover: FailoverSettings;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz' })
  createdAt: Date;

  @UpdateDateColumn({ name: 'updated_at', type: 'timestamptz' })
  updatedAt: Date;

  /** Set by hand, not by TypeORM's soft delete: usage must still find the row. */
  @Column({ name: 'deleted_at', type: 'timestamptz', nullable: true })
  deletedAt: Date | null;
}
