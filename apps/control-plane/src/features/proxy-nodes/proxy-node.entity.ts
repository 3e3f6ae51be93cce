import { Column, Entity } from 'typeorm';
import { KeptRow } from '../../platform/database/row-columns.ts';

@Entity('proxy_nodes')
export class ProxyNode extends KeptRow {
  @Column({ type: 'text' })
  name: string;

  @Column({ type: 'text', nullable: true })
  url: string | null;

  /** Is the SHA-256 (hex) of the node's own credential; null for a node that registered with the fleet's. */
  @Column({ type: 'text', nullable: true })
  credentialHash: string | null;

  @Column({ type: 'boolean' })
  isSelfRegistered: boolean;

  @Column({ type: 'boolean' })
  enabled: boolean;

  @Column({ type: 'boolean' })
  stopped: boolean;

  @Column({ type: 'timestamptz', nullable: true })
  lastSeenAt: Date | null;
}
