import type { FurtherEndpoint, UpstreamProtocol } from '@tollgate/contracts';
import type { UpstreamFields } from '@tollgate/snapshot';
import {
  Column,
  CreateDateColumn,
  Entity,
  PrimaryGeneratedColumn,
  UpdateDateColumn,
} from 'typeorm';

@Entity('upstreams')
export class Upstream {
  @PrimaryGeneratedColumn('identity', { type: 'integer' })
  id: number;

  @Column({ type: 'text' })
  name: string;

  @Column({ type: 'text' })
  protocol: UpstreamProtocol;

  @Column({ name: 'base_url', type: 'text' })
  baseUrl: string;

  /** Bound to `id`: swapped between two rows it opens for neither (security S11). */
  @Column({ name: 'sealed_api_key', type: 'text', nullable: true })
  sealedApiKey: string | null;

  @Column({ type: 'jsonb' })
  headers: Record<string, string>;

  @Column({ name: 'connect_timeout_ms', type: 'integer' })
  connectTimeoutMs: number;

  @Column({ name: 'first_token_timeout_ms', type: 'integer' })
  firstTokenTimeoutMs: number;

  @Column({ name: 'idle_timeout_ms', type: 'integer' })
  idleTimeoutMs: number;

  @Column({ name: 'total_timeout_ms', type: 'integer' })
  totalTimeoutMs: number;

  @Column({ name: 'max_concurrency', type: 'integer', nullable: true })
  maxConcurrency: number | null;

  /** Null: what is known of the host. */
  @Column({ name: 'stops_billing_on_close', type: 'boolean', nullable: true })
  stopsBillingOnClose: boolean | null;

  /** Null: what is known of the host. */
  @Column({ type: 'text', array: true, nullable: true })
  endpoints: FurtherEndpoint[] | null;

  /** Requests may name files of the provider's account. */
  @Column({ name: 'passes_file_ids', type: 'boolean' })
  passesFileIds: boolean;

  @Column({ type: 'text' })
  fields: UpstreamFields;

  @Column({ type: 'boolean' })
  enabled: boolean;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz' })
  createdAt: Date;

  @UpdateDateColumn({ name: 'updated_at', type: 'timestamptz' })
  updatedAt: Date;

  @Column({ name: 'deleted_at', type: 'timestamptz', nullable: true })
  deletedAt: Date | null;
}
