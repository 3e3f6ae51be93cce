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

  /** Shared with names that look alike: `skeletonsOf`. */
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

  /** Rises with every change the live record in Redis must follow. */
  @Column({ type: 'bigint', default: 1, transformer: safeIntegerColumn })
  revision: number;

  /** Running streams of a frozen or deleted account may finish when true. */
  @Column({ type: 'boolean', default: false })
  drain: boolean;

  /** Set: the password is a one-time one, and good until then. */
  @Column({ type: 'timestamptz', nullable: true })
  oneTimeUntil: Date | null;

  /** Made by the demo; one command closes all of them. */
  @Column({ type: 'boolean', default: false })
  isDemo: boolean;

  /** Ceilings of the limits of its keys, by name; 0 = none, absent = the installation's. */
  @Column({ type: 'jsonb' })
  ceilings: Partial<KeyLimits>;

  /** Limits over all its keys. */
  @Column({ type: 'jsonb' })
  rates: RateBody[];
}
