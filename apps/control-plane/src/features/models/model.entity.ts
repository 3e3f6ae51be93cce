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

  @Column({ type: 'text' })
  displayName: string;

  @Column({ type: 'text' })
  kind: ModelKind;

  @Column({ type: 'text' })
  ownedBy: string;

  @Column({ type: 'text' })
  description: string;

  @Column({ type: 'integer', nullable: true })
  contextWindow: number | null;

  @Column({ type: 'integer', nullable: true })
  maxOutputTokens: number | null;

  @Column({ type: 'integer', nullable: true })
  defaultOutputTokens: number | null;

  @Column({ type: 'integer', nullable: true })
  unboundedInputTokens: number | null;

  @Column({ type: 'boolean' })
  isOnShelf: boolean;

  /** It searches or reads by itself. */
  @Column({ type: 'boolean', default: false })
  readsMoreThanSent: boolean;

  @Column({ type: 'boolean', default: false })
  cachesPrompts: boolean;

  @Column({ type: 'jsonb' })
  failover: FailoverSettings;

  @CreateDateColumn({ type: 'timestamptz' })
  createdAt: Date;

  @UpdateDateColumn({ type: 'timestamptz' })
  updatedAt: Date;

  /** Set by hand, not by TypeORM's soft delete: usage must still find the row. */
  @Column({ type: 'timestamptz', nullable: true })
  deletedAt: Date | null;
}
