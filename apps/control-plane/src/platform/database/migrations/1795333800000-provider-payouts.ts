import type { MigrationInterface, QueryRunner } from 'typeorm';

const KINDS =
  "'recharge', 'admin_recharge', 'subscribe', 'renew', 'auto_recharge', 'refund', 'forfeit', 'adjustment', 'payout'";

/** Money that goes back to its payer through the payment provider, and comes back when the provider does not pay it. */
export class ProviderPayouts1795333800000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // Older rows fit, because the former constraint was narrower: they are not read under a lock that keeps writers out.
    await runner.query(`
      ALTER TABLE ledger_transactions DROP CONSTRAINT ledger_transactions_kind_check;
      ALTER TABLE ledger_transactions ADD CONSTRAINT ledger_transactions_kind_check CHECK (kind IN (${KINDS}, 'payout_return')) NOT VALID;
      CREATE TABLE payouts (
        id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        user_id integer NOT NULL REFERENCES users (id),
        payment_id integer NOT NULL REFERENCES payments (id),
        ledger_transaction_id bigint NOT NULL REFERENCES ledger_transactions (id),
        provider text NOT NULL,
        provider_reference text,
        amount bigint NOT NULL CHECK (amount > 0),
        currency text NOT NULL,
        status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'paid', 'failed')),
        attempts integer NOT NULL DEFAULT 0,
        -- Not sent again before this time: the lease of who sends it, and the pause after a failure.
        retry_at timestamptz NOT NULL,
        failure text,
        created_at timestamptz NOT NULL DEFAULT now(),
        settled_at timestamptz,
        CHECK ((status = 'pending') = (settled_at IS NULL))
      );
      CREATE INDEX payouts_user ON payouts (user_id, id DESC);
      CREATE INDEX payouts_payment ON payouts (payment_id);
      CREATE INDEX payouts_pending ON payouts (retry_at) WHERE status = 'pending';
    `);
  }

  /** Payouts are part of the ledger: they are dropped only where there are none. */
  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DO $$ BEGIN
        IF EXISTS (SELECT FROM payouts) THEN RAISE EXCEPTION 'payouts are part of the ledger and cannot be dropped'; END IF;
      END $$;
      DROP TABLE payouts;
      ALTER TABLE ledger_transactions DROP CONSTRAINT ledger_transactions_kind_check;
      ALTER TABLE ledger_transactions ADD CONSTRAINT ledger_transactions_kind_check CHECK (kind IN (${KINDS}));
    `);
  }
}
