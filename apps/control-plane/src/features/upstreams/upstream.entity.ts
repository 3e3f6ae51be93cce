import type { AuthType, FurtherEndpoint, UpstreamProtocol } from '@tollgate/contracts';
import type { UpstreamFields } from '@tollgate/snapshot';
import { Column, Entity } from 'typeorm';
import { KeptRow } from '../../platform/database/row-columns.ts';

@Entity('upstreams')
export class Upstream extends KeptRow {
  @Column({ type: 'text' })
  name: string;

  @Column({ type: 'text' })
  protocol: UpstreamProtocol;

  @Column({ type: 'text' })
  baseUrl: string;

  /** Is bound to `id`: swapped between two rows it opens for neither (security S11). */
  @Column({ type: 'text', nullable: true })
  sealedApiKey: string | null;

  /** Is the share of requests that this credential gets beside further ones. */
  @Column({ type: 'integer' })
  credentialWeight: number;

  @Column({ type: 'integer', nullable: true })
  credentialRpm: number | null;

  @Column({ type: 'integer', nullable: true })
  credentialTpm: number | null;

  @Column({ type: 'boolean' })
  credentialEnabled: boolean;

  /** Is the kind of what is sealed. */
  @Column({ type: 'text' })
  authType: AuthType;

  @Column({ type: 'jsonb' })
  headers: Record<string, string>;

  @Column({ type: 'integer' })
  connectTimeoutMs: number;

  @Column({ type: 'integer' })
  firstTokenTimeoutMs: number;

  @Column({ type: 'integer' })
  idleTimeoutMs: number;

  @Column({ type: 'integer' })
  totalTimeoutMs: number;

  @Column({ type: 'integer', nullable: true })
  maxConcurrency: number | null;

  /** Is null where what is known of the host decides. */
  @Column({ type: 'boolean', nullable: true })
  stopsBillingOnClose: boolean | null;

  /** Is null where what is known of the host applies. */
  @Column({ type: 'text', array: true, nullable: true })
  endpoints: FurtherEndpoint[] | null;

  /** Requests may name files of the provider's account. */
  @Column({ type: 'boolean' })
  passesFileIds: boolean;

  @Column({ type: 'text' })
  fields: UpstreamFields;

  @Column({ type: 'boolean' })
  enabled: boolean;
}
