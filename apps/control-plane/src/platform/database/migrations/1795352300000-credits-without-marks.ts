import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Redis itself says which credits it has. Looked for every few seconds: closed subscriptions that hold tokens or owe some. */
export class CreditsWithoutMarks1795352300000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE token_credits DROP COLUMN applied_at;
      CREATE INDEX token_credits_newest ON token_credits (created_at);
      CREATE INDEX subscriptions_unsettled ON subscriptions (id) WHERE status = 'closed' AND balance <> overdraft`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP INDEX subscriptions_unsettled, token_credits_newest;
      ALTER TABLE token_credits ADD COLUMN applied_at timestamptz;
      UPDATE token_credits SET applied_at = now();
      CREATE INDEX token_credits_pending ON token_credits (subscription_id, seq) WHERE applied_at IS NULL`);
  }
}
