import type { KeyLimits } from '@tollgate/contracts';
import { Column, Entity } from 'typeorm';
import type { Role } from '../../platform/access/caller.ts';
import type { RateBody } from '../../platform/openapi/rate-field.ts';
import { safeIntegerColumn } from '../../platform/database/columns.ts';
import type { UserStatus } from './user-transitions.ts';
import { KeptRow } from '../../platform/database/row-columns.ts';

@Entity('users')
export class User extends KeptRow {
  @Column({ type: 'text' })
  username: string;

  /** Holds the texts that look-alike names share: `skeletonsOf`. */
  @Column({ type: 'text', array: true, default: [] })
  skeletons: string[];

  @Column({ type: 'text' })
  passwordHash: string;

  @Column({ type: 'text' })
  role: Role;

  @Column({ type: 'text' })
  status: UserStatus;

  /** Rises to end every session of the account at once. */
  @Column({ type: 'integer', default: 1 })
  sessionVersion: number;

  /** Rises with every change that the live record in Redis must follow. */
  @Column({ type: 'bigint', default: 1, transformer: safeIntegerColumn })
  revision: number;

  /** Is true when running streams of a frozen or deleted account may finish. */
  @Column({ type: 'boolean', default: false })
  drain: boolean;

  /** Is the time until which a one-time password is valid; null for a password of the owner's choice. */
  @Column({ type: 'timestamptz', nullable: true })
  oneTimeUntil: Date | null;

  /** Is true for accounts of the demo, which one command closes. */
  @Column({ type: 'boolean', default: false })
  isDemo: boolean;

  /** Holds the ceilings of its keys' limits by name; 0 means none, and an absent one is the installation's. */
  @Column({ type: 'jsonb' })
  ceilings: Partial<KeyLimits>;

  /** Holds the rates over all its keys. */
  @Column({ type: 'jsonb' })
  rates: RateBody[];
}
