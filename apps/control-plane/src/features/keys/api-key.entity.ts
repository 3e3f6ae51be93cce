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

  /** Those that it has, by name. */
  @Column({ type: 'jsonb' })
  limits: Partial<KeyLimits>;

  /** Limits of tokens count what was read from a cache. */
  @Column({ type: 'boolean' })
  countsCacheReads: boolean;

  /** Limits for some models each. */
  @Column({ type: 'jsonb' })
  rates: RateBody[];

  @Column({ type: 'text' })
  status: ApiKeyStatus;

  @Column({ type: 'timestamptz', nullable: true })
  expiresAt: Date | null;

  @Column({ type: 'text' })
  ipAllowlist: string;

  /** The session to which a key of the playground belongs. */
  @Column({ type: 'uuid', nullable: true })
  playgroundSid: string | null;

  /** The key that this one was made to replace. */
  @Column({ type: 'integer', nullable: true })
  replacesId: number | null;

  /** The key whose budgets this one counts against; null: its own. */
  @Column({ type: 'integer', nullable: true })
  budgetsOfId: number | null;

  @Column({ type: 'boolean' })
  drain: boolean;

  /** Rises with every change; the live record in Redis never goes back. */
  @Column({ type: 'bigint', transformer: safeIntegerColumn })
  revision: number;
}
