import { Column, CreateDateColumn, Entity, PrimaryGeneratedColumn } from 'typeorm';
import { bigintColumn } from '../../platform/database/columns.ts';

@Entity('payments')
export class Payment {
  @PrimaryGeneratedColumn() id: number;
  @Column({ type: 'integer' }) userId: number;
  @Column({ type: 'text' }) provider: string;
  @Column({ type: 'text', nullable: true }) providerReference: string | null;
  @Column({ type: 'bigint', transformer: bigintColumn }) amount: bigint;
  @Column({ type: 'text' }) currency: string;
  @Column({ type: 'text' }) status: 'open' | 'paid' | 'failed';
  @Column({ type: 'integer', nullable: true }) createdBy: number | null;
  @CreateDateColumn({ type: 'timestamptz' }) createdAt: Date;
  @Column({ type: 'timestamptz', nullable: true }) paidAt: Date | null;
}
