import {
  Column,
  CreateDateColumn,
  Entity,
  PrimaryGeneratedColumn,
  UpdateDateColumn,
} from 'typeorm';
import { safeIntegerColumn } from '../../platform/database/columns.ts';

export type ApiKeyStatus = 'enabled' | 'disabled' | 'deleted';

@Entity('api_keys')
export class ApiKeyRow {
  @PrimaryGeneratedColumn()
  id: number;

  @Column({ name: 'user_id', type: 'integer' })
  userId: number;

  @Column({ type: 'text' })
  name: string;

  @Column({ name: 'key_hash', type: 'text' })
  keyHash: string;

  @Column({ name: 'key_prefix', type: 'text' })
  keyPrefix: string;

  @Column({ name: 'allowed_models', type: 'text' })
  allowedModels: string;

  @Column({ type: 'integer' })
  rpm: number;

  @Column({ type: 'integer' })
  rph: number;

  @Column({ type: 'integer' })
  rpd: number;

  @Column({ type: 'text' })
  status: ApiKeyStatus;

  @Column({ name: 'expires_at', type: 'timestamptz', nullable: true })
  expiresAt: Date | null;

  @Column({ name: 'ip_allowlist', type: 'text' })
  ipAllowlist: string;

  /** Of a key of the playground: the session it belongs to. */
  @Column({ name: 'playground_sid', type: 'uuid', nullable: true })
  playgroundSid: string | null;

  /** The key that this one was made to replace. */
  @Column({ name: 'replaces_id', type: 'integer', nullable: true })
  replacesId: number | null;

  @Column({ type: 'boolean' })
  drain: boolean;

  /** Rises with every change; the live record in Redis never goes back. */
  @Column({ type: 'bigint', transformer: safeIntegerColumn })
  revision: number;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz' })
  createdAt: Date;

  @UpdateDateColumn({ name: 'updated_at', type: 'timestamptz' })
  updatedAt: Date;

  @Column({ name: 'deleted_at', type: 'timestamptz', nullable: true })
  deletedAt: Date | null;
}
