import type { MigrationInterface, QueryRunner } from 'typeorm';
import { CREATE_RESTORES } from '../backup/restores-table.ts';

/** Which backups were loaded here, and what had been lost since each was taken. */
export class Restores1795344000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(CREATE_RESTORES);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE restores');
  }
}
