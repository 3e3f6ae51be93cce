import { Column, Entity, JoinColumn, ManyToOne, PrimaryColumn, type Relation } from 'typeorm';
import { bigintColumn, safeIntegerColumn } from '../../platform/database/columns.ts';
import type { LedgerKind } from './ledger.service.ts';

/** Maps the ledger for reading. Only LedgerService writes it. */
@Entity('ledger_accounts')
export class LedgerAccount {
  @PrimaryColumn({ type: 'integer' }) id: number;
  @Column({ type: 'text' }) kind: string;
  @Column({ type: 'integer', nullable: true }) userId: number | null;
  @Column({ type: 'bigint', transformer: bigintColumn }) balance: bigint;
}

@Entity('ledger_transactions')
export class LedgerTransaction {
  @PrimaryColumn({ type: 'bigint', transformer: safeIntegerColumn }) id: number;
  @Column({ type: 'text' }) kind: LedgerKind;
  @Column({ type: 'text' }) reference: string;
  @Column({ type: 'integer', nullable: true }) actorUserId: number | null;
  @Column({ type: 'text', nullable: true }) note: string | null;
  @Column({ type: 'timestamptz' }) createdAt: Date;
}

@Entity('ledger_entries')
export class LedgerEntry {
  @PrimaryColumn({ type: 'bigint', transformer: safeIntegerColumn }) id: number;
  @Column({ type: 'integer' }) ledgerAccountId: number;
  @Column({ type: 'bigint', transformer: bigintColumn }) amount: bigint;
  @Column({ type: 'bigint', transformer: bigintColumn })
  balanceAfter: bigint;
  @ManyToOne(() => LedgerTransaction, { nullable: false })
  @JoinColumn({ name: 'transaction_id' })
  transaction: Relation<LedgerTransaction>;
}
