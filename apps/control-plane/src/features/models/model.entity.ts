import type { FailoverSettings } from '@tollgate/snapshot';
import { Column, Entity } from 'typeorm';
import { KeptRow } from '../../platform/database/row-columns.ts';

export type ModelKind = 'chat' | 'embedding';

@Entity('models')
export class ModelRow extends KeptRow {
  @Column({ type: 'text' })
  name: string;

  /** Holds further names by which clients may call the model. No two models share a name or alias. */
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

  /** Is true when the model searches or reads by itself. */
  @Column({ type: 'boolean', default: false })
  readsMoreThanSent: boolean;

  @Column({ type: 'boolean', default: false })
  cachesPrompts: boolean;

  @Column({ type: 'jsonb' })
  failover: FailoverSettings;
}
