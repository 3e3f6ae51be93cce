import { Column, Entity, PrimaryColumn } from 'typeorm';

@Entity('sessions')
export class SessionRow {
  @PrimaryColumn({ name: 'sid', type: 'uuid' })
  id: string;

  @Column({ type: 'integer' })
  userId: number;

  /** Is the account's session version when the session began. A later version of the account ends the session. */
  @Column({ type: 'integer' })
  version: number;

  @Column({ type: 'text' })
  address: string;

  @Column({ type: 'text' })
  userAgent: string;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  @Column({ type: 'timestamptz' })
  lastSeenAt: Date;

  @Column({ type: 'timestamptz' })
  expiresAt: Date;

  @Column({ type: 'timestamptz', nullable: true })
  endedAt: Date | null;
}
