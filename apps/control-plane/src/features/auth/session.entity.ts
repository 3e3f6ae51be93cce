import { Column, Entity, PrimaryColumn } from 'typeorm';

@Entity('sessions')
export class SessionRow {
  @PrimaryColumn({ name: 'sid', type: 'uuid' })
  id: string;

  @Column({ name: 'user_id', type: 'integer' })
  userId: number;

  /** The account's session version when it began; a later one ends it. */
  @Column({ type: 'integer' })
  version: number;

  @Column({ type: 'text' })
  address: string;

  @Column({ name: 'user_agent', type: 'text' })
  userAgent: string;

  @Column({ name: 'created_at', type: 'timestamptz' })
  createdAt: Date;

  @Column({ name: 'last_seen_at', type: 'timestamptz' })
  lastSeenAt: Date;

  @Column({ name: 'expires_at', type: 'timestamptz' })
  expiresAt: Date;

  @Column({ name: 'ended_at', type: 'timestamptz', nullable: true })
  endedAt: Date | null;
}
