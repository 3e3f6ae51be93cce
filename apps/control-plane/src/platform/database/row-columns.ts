import { Column, CreateDateColumn, PrimaryGeneratedColumn, UpdateDateColumn } from 'typeorm';

/** Holds the columns of a row that people change. */
export abstract class ChangedRow {
  @PrimaryGeneratedColumn()
  id: number;

  @CreateDateColumn({ type: 'timestamptz' })
  createdAt: Date;

  @UpdateDateColumn({ type: 'timestamptz' })
  updatedAt: Date;
}

/** Holds the columns of a row that is kept when it is deleted, as usage must still find it. */
export abstract class KeptRow extends ChangedRow {
  /** The code sets this column, not TypeORM's soft delete. */
  @Column({ type: 'timestamptz', nullable: true })
  deletedAt: Date | null;
}
