import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Online recharges. The ledger posts `payment:<id>` once, so a webhook that comes twice credits once. */
export class Payments1763686900000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE payments (
        id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        user_id integer NOT NULL REFERENCES users (id),
        provider text NOT NULL,
        -- The provider's own id of it; null until the provider gave one.
        provider_reference text,
        amount bigint NOT NULL CHECK (amount > 0),
        currency text NOT NULL,
        status text NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'paid', 'failed')),
        created_by integer REFERENCES users (id),
        created_at timestamptz NOT NULL DEFAULT now(),
        paid_at timestamptz,
        CHECK ((status = 'paid') = (paid_at IS NOT NULL)),
        UNIQUE (provider, provider_reference)
      );
      CREATE INDEX payments_user ON payments (user_id, id DESC);
    `);
  }

  async down(): Promise<void> {
    throw new Error('payments are part of the books and cannot be dropped');
  }
}
