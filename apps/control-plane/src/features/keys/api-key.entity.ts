import type { KeyLimits } from '@tollgate/contracts';
import { Column, Entity } from 'typeorm';
import type { RateBody } from '../../platform/openapi/rate-field.ts';
import { safeIntegerColumn } from '../../platform/database/columns.ts';
import { KeptRow } from '../../platform/database/row-columns.ts';

export type ApiKeyStatus = 'enabled' | 'disabled' | 'deleted';

@Entity('api_keys')
export class ApiKeyRow extends KeptRow {
  @Column({ type: 'integer' })
  userId: number;

  @Column({ type: 'text' })
  name: string;

  @Column({ type: 'text' })
  keyHash: string;

  @Column({ type: 'text' })
  keyPrefix: string;

  @Column({ type: 'text' })
  allowedModels: string;

  /** Holds the key's limits by name. */
  @Column({ type: 'jsonb' })
  limits: Partial<KeyLimits>;

  /** Is true when limits of tokens count cache reads. */
  @Column({ type: 'boolean' })
  countsCacheReads: boolean;

  /** Holds rates that apply to some models. */
  @Column({ type: 'jsonb' })
  rates: RateBody[];

  @Column({ type: 'text' })
  status: ApiKeyStatus;

  @Column({ type: 'timestamptz', nullable: true })
  expiresAt: Date | null;

  @Column({ type: 'text' })
  ipAllowlist: string;

  /** Is the session to which a key of the playground belongs. */
  @Column({ type: 'uuid', nullable: true })
  playgroundSid: string | null;

  /** Is the key that this key replaces. */
  @Column({ type: 'integer', nullable: true })
  replacesId: number | null;

  /** Is the key whose budgets this key counts against; null for its own. */
  @Column({ type: 'integer', nullable: true })
  budgetsOfId: number | null;

  @Column({ type: 'boolean' })
  drain: boolean;

  /** Rises with every change, so that the live record in Redis is never overwritten by an older one. */
  @Column({ type: 'bigint', transformer: safeIntegerColumn })
  revision: number;
}
