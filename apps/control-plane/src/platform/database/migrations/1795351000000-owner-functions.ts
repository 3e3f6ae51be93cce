import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What control planes do beyond the rights of their role. Each runs with the owner's, finds no object but its own, and takes no name from its caller. */
const FUNCTIONS: Readonly<Record<string, string>> = {
  'create_usage_day(wanted date)': `
    BEGIN
      IF NOT coalesce(wanted BETWEEN '2000-01-01' AND '9999-12-30', false) THEN
        RAISE EXCEPTION 'there are no usage events of %', wanted USING ERRCODE = 'invalid_parameter_value';
      END IF;
      EXECUTE format('CREATE TABLE IF NOT EXISTS SCHEMA.%I PARTITION OF SCHEMA.usage_events FOR VALUES FROM (%L) TO (%L)',
        'usage_events_' || to_char(wanted, 'YYYYMMDD'), wanted, wanted + 1);
    END`,
  // Nobody writes rows of that day until the transaction ends.
  'lock_usage_day(expired date)': `
    DECLARE day_name text := 'usage_events_' || to_char(expired, 'YYYYMMDD');
    BEGIN
      IF to_regclass(format('SCHEMA.%I', day_name)) IS NULL THEN
        LOCK TABLE SCHEMA.usage_events_default IN SHARE MODE;
      ELSE
        EXECUTE format('LOCK TABLE SCHEMA.%I IN SHARE MODE', day_name);
      END IF;
    END`,
  'drop_usage_day(expired date)': `
    BEGIN
      -- A day before our era has the table's name of one of ours.
      IF NOT coalesce(expired >= '2000-01-01' AND expired < (SELECT before FROM SCHEMA.usage_dropped_days), false) THEN
        RAISE EXCEPTION 'the usage events of % are not marked as dropped', expired USING ERRCODE = 'invalid_parameter_value';
      END IF;
      EXECUTE format('DROP TABLE IF EXISTS SCHEMA.%I', 'usage_events_' || to_char(expired, 'YYYYMMDD'));
      DELETE FROM SCHEMA.usage_events_default WHERE day = expired;
    END`,
  // Erases notes of an account that was deleted: no amount, id or time of the ledger changes (refuse_change).
  'erase_notes(account integer)': `
    BEGIN
      IF NOT EXISTS (SELECT FROM SCHEMA.users WHERE id = account AND status = 'deleted') THEN
        RAISE EXCEPTION 'the account % is not deleted', account USING ERRCODE = 'invalid_parameter_value';
      END IF;
      PERFORM set_config('tollgate.erasing', 'on', true);
      UPDATE SCHEMA.ledger_transactions t SET note = NULL WHERE note IS NOT NULL AND EXISTS
        (SELECT FROM SCHEMA.ledger_entries e JOIN SCHEMA.ledger_accounts a ON a.id = e.ledger_account_id WHERE e.transaction_id = t.id AND a.user_id = account);
      PERFORM set_config('tollgate.erasing', '', true);
    END`,
  'erase_entries(entries bigint[])': `
    BEGIN
      PERFORM set_config('tollgate.erasing', 'on', true);
      UPDATE SCHEMA.activity_log SET actor_name = NULL, address = NULL, before = NULL, after = NULL WHERE id = ANY (entries);
      PERFORM set_config('tollgate.erasing', '', true);
    END`,
};

export class OwnerFunctions1795351000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const [row]: { schema: string }[] = await runner.query(
      'SELECT quote_ident(current_schema()) AS schema',
    );
    const schema = row?.schema ?? 'public';
    for (const [signature, body] of Object.entries(FUNCTIONS)) {
      await runner.query(
        `CREATE FUNCTION ${schema}.${signature} RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
         AS $$${body.replaceAll('SCHEMA.', `${schema}.`)} $$`,
      );
      await runner.query(
        `REVOKE EXECUTE ON FUNCTION ${schema}.${argumentsOf(signature)} FROM PUBLIC`,
      );
    }
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const signature of Object.keys(FUNCTIONS))
      await runner.query(`DROP FUNCTION ${argumentsOf(signature)}`);
  }
}

/** Without the names of its parameters. */
function argumentsOf(signature: string): string {
  return signature.replace(/\(\w+ /, '(');
}
