import { Column, CreateDateColumn, Entity, PrimaryGeneratedColumn } from 'typeorm';
import { bigintColumn, safeIntegerColumn } from '../../platform/database/columns.ts';

/** Describes the part of a payment that its provider pays back to the payer. The wallet is debited when the row is written. */
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
  /** `failed` means that the money is in the wallet again. */
  @Column({ type: 'text' }) status: 'pending' | 'paid' | 'failed';
  @Column({ type: 'integer' }) attempts: number;
  @Column({ type: 'timestamptz' }) retryAt: Date;
  /** Is the failure of the last attempt. It never contains the provider's text about our account. */
  @Column({ type: 'text', nullable: true }) failure: string | null;
  @CreateDateColumn({ type: 'timestamptz' }) createdAt: Date;
  @Column({ type: 'timestamptz', nullable: true }) settledAt: Date | null;
}
