import type { MigrationInterface, QueryRunner } from 'typeorm';

const CLASSES = ['cache_write_1h', 'audio_input', 'audio_output'];
const ROLLUPS = ['usage_rollups', 'usage_rollups_daily', 'usage_totals', 'usage_totals_daily'];

/** Audio and 1-hour cache writes become classes of their own. A weight of null is the parent's, so every price charges what it charged before. */
export class AudioAndHourClasses1795333200000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const name of CLASSES) {
      await runner.query(
        `ALTER TABLE price_versions ADD COLUMN weight_${name} bigint CHECK (weight_${name} >= 0)`,
      );
      await runner.query(`ALTER TABLE usage_events ADD COLUMN ${name}_tokens bigint`);
      for (const table of ROLLUPS)
        await runner.query(
          `ALTER TABLE ${table} ADD COLUMN ${name}_tokens bigint NOT NULL DEFAULT 0`,
        );
    }
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const name of CLASSES) {
      await runner.query(`ALTER TABLE price_versions DROP COLUMN weight_${name}`);
      for (const table of ['usage_events', ...ROLLUPS])
        await runner.query(`ALTER TABLE ${table} DROP COLUMN ${name}_tokens`);
    }
  }
}
