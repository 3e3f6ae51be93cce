import type { AuthType } from '@tollgate/contracts';
import { Column, Entity } from 'typeorm';
import { ChangedRow } from '../../platform/database/row-columns.ts';

/** Is a credential beside the one of the upstream's own row. */
@Entity('upstream_credentials')
export class UpstreamCredential extends ChangedRow {
  @Column({ type: 'integer' })
  upstreamId: number;

  @Column({ type: 'text' })
  name: string;

  @Column({ type: 'text' })
  authType: AuthType;

  /** Holds the sealed secret, bound to `id`, the upstream and its address. */
  @Column({ type: 'text' })
  sealed: string;

  @Column({ type: 'integer' })
  weight: number;

  @Column({ type: 'integer', nullable: true })
  rpm: number | null;

  @Column({ type: 'integer', nullable: true })
  tpm: number | null;

  @Column({ type: 'boolean' })
  enabled: boolean;
}
