import { Column, CreateDateColumn, Entity, PrimaryGeneratedColumn } from 'typeorm';
import { bigintColumn } from '../../platform/database/columns.ts';

@Entity('payments')
export class Payment {
  @PrimaryGeneratedColumn() id: number;
  @Column({ name: 'user_id', type: 'integer' }) userId: number;
  @Column({ type: 'text' }) provider: string;
  @Column({ name: 'provider_reference', type: 'text', nullable: true }) providerReference:
    | string
    | null;
  @Column({ type: 'bigint', transformer: bigintColumn }) amount: bigint;
  @Column({ type: 'text' }) currency: string;
  @Column({ type: 'text' }) status: 'open' | 'paid' | 'failed';
  @Column({ name: 'created_by', type: 'integer', nullable: true }) createdBy: number | null;
  @CreateDateColumn({ name: 'created_at', type: 'timestamptz' }) createdAt: Date;
  @Column({ name: 'paid_at', type: 'timestamptz', nullable: true }) paidAt: Date | null;
}
