import { Column, CreateDateColumn, Entity, PrimaryGeneratedColumn } from 'typeorm';
import { bigintColumn, safeIntegerColumn } from '../../platform/database/columns.ts';

/** Part of a payment that its provider pays back to the payer. The wallet has given the money when the row is written. */
@Entity('payouts')
export class Payout {
  @PrimaryGeneratedColumn() id: number;
  @Column({ type: 'integer' }) userId: number;
  @Column({ type: 'integer' }) paymentId: number;
  @Column({ name: 'ledger_transaction_id', type: 'bigint', transformer: safeIntegerColumn })
  transactionId: number;
  @Column({ type: 'text' }) provider: string;
  @Column({ type: 'text', nullable: true }) providerReference: string | null;
  @Column({ type: 'bigint', transformer: bigintColumn }) amount: bigint;
  @Column({ type: 'text' }) currency: string;
  /** failed: the money is in the wallet again. */
  @Column({ type: 'text' }) status: 'pending' | 'paid' | 'failed';
  @Column({ type: 'integer' }) attempts: number;
  @Column({ type: 'timestamptz' }) retryAt: Date;
  /** The failure of the last attempt; never the provider's own words about our account. */
  @Column({ type: 'text', nullable: true }) failure: string | null;
  @CreateDateColumn({ type: 'timestamptz' }) createdAt: Date;
  @Column({ type: 'timestamptz', nullable: true }) settledAt: Date | null;
}
