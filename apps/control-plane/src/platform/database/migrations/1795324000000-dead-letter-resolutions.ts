import type { MigrationInterface, QueryRunner } from 'typeorm';

export class DeadLetterResolutions1795324000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      ALTER TABLE usage_dead_letters
        ADD COLUMN resolution text CHECK (resolution IN ('booked', 'duplicate', 'dismissed')),
        ADD COLUMN resolved_by integer,
        ADD COLUMN note text;
      CREATE INDEX usage_dead_letters_open ON usage_dead_letters (id) WHERE resolved_at IS NULL;`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      DROP INDEX usage_dead_letters_open;
      ALTER TABLE usage_dead_letters DROP COLUMN resolution, DROP COLUMN resolved_by, DROP COLUMN note;`);
  }
}
