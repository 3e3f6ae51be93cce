/** Selects entries by the person, about the person, about what of theirs (its entry has names and addresses), or with the name in what changed. Erasures name no person and stay, because they excuse what they emptied. */
const OF_PERSON = `l.action <> 'user.erase' AND (l.action <> 'user.ask-erasure' OR l.actor_user_id = account)
  AND num_nonnulls(l.actor_name, l.address, l.before, l.after) > 0
  AND (l.actor_user_id = account OR (l.target_kind = 'user' AND l.target_id = account::text)
    OR (l.target_kind IN ('key', 'session', 'access_token') AND account::text IN (l.before ->> 'user_id', l.after ->> 'user_id'))
    OR l.before @? format('$.**.username ? (@ == %s)', to_json(person))::jsonpath OR l.after @? format('$.**.username ? (@ == %s)', to_json(person))::jsonpath)`;

interface OwnerFunction {
  returns: string;
  body: string;
}

/** Holds functions for what control planes do beyond the rights of their role. Each runs with the owner's rights, finds no object but its own, and takes no name from its caller. */
const FUNCTIONS: Readonly<Record<string, OwnerFunction>> = {
  'create_usage_day(wanted date)': {
    returns: 'void',
    body: `
    BEGIN
      IF NOT coalesce(wanted BETWEEN '2000-01-01' AND '9999-12-30', false) THEN
        RAISE EXCEPTION 'there are no usage events of %', wanted USING ERRCODE = 'invalid_parameter_value';
      END IF;
      EXECUTE format('CREATE TABLE IF NOT EXISTS SCHEMA.%I PARTITION OF SCHEMA.usage_events FOR VALUES FROM (%L) TO (%L)',
        'usage_events_' || to_char(wanted, 'YYYYMMDD'), wanted, wanted + 1);
    END`,
  },
  // Nobody writes rows of that day until the transaction ends.
  'lock_usage_day(expired date)': {
    returns: 'void',
    body: `
    DECLARE day_name text := 'usage_events_' || to_char(expired, 'YYYYMMDD');
    BEGIN
      IF to_regclass(format('SCHEMA.%I', day_name)) IS NULL THEN
        LOCK TABLE SCHEMA.usage_events_default IN SHARE MODE;
      ELSE
        EXECUTE format('LOCK TABLE SCHEMA.%I IN SHARE MODE', day_name);
      END IF;
    END`,
  },
  'drop_usage_day(expired date)': {
    returns: 'void',
    body: `
    BEGIN
      -- A day before our era has the table's name of one of ours.
      IF NOT coalesce(expired >= '2000-01-01' AND expired < (SELECT before FROM SCHEMA.usage_dropped_days), false) THEN
        RAISE EXCEPTION 'the usage events of % are not marked as dropped', expired USING ERRCODE = 'invalid_parameter_value';
      END IF;
      EXECUTE format('DROP TABLE IF EXISTS SCHEMA.%I', 'usage_events_' || to_char(expired, 'YYYYMMDD'));
      DELETE FROM SCHEMA.usage_events_default WHERE day = expired;
    END`,
  },
  // Erases notes of an account that was deleted: no amount, id or time of the ledger changes (refuse_change).
  'erase_notes(account integer)': {
    returns: 'void',
    body: `
    BEGIN
      IF NOT EXISTS (SELECT FROM SCHEMA.users WHERE id = account AND status = 'deleted') THEN
        RAISE EXCEPTION 'the account % is not deleted', account USING ERRCODE = 'invalid_parameter_value';
      END IF;
      PERFORM set_config('tollgate.erasing', 'on', true);
      UPDATE SCHEMA.ledger_transactions t SET note = NULL WHERE note IS NOT NULL AND EXISTS
        (SELECT FROM SCHEMA.ledger_entries e JOIN SCHEMA.ledger_accounts a ON a.id = e.ledger_account_id WHERE e.transaction_id = t.id AND a.user_id = account);
      PERFORM set_config('tollgate.erasing', '', true);
    END`,
  },
  // Empties the entries of the activity log that name the person of a deleted account, and returns them. It chooses them: a caller could name any entry.
  'erase_entries(account integer, is_dry_run boolean)': {
    returns: 'TABLE (entry_id bigint, entry_hash text)',
    body: `
    DECLARE
      person text := (SELECT username FROM SCHEMA.users WHERE id = account AND status = 'deleted');
      entries bigint[];
    BEGIN
      IF person IS NULL THEN
        RAISE EXCEPTION 'the account % is not deleted', account USING ERRCODE = 'invalid_parameter_value';
      END IF;
      entries := ARRAY(SELECT l.id FROM SCHEMA.activity_log l WHERE ${OF_PERSON} ORDER BY l.id);
      IF NOT is_dry_run THEN
        PERFORM set_config('tollgate.erasing', 'on', true);
        UPDATE SCHEMA.activity_log SET actor_name = NULL, address = NULL, before = NULL, after = NULL WHERE id = ANY (entries);
        PERFORM set_config('tollgate.erasing', '', true);
      END IF;
      RETURN QUERY SELECT l.id, l.hash FROM SCHEMA.activity_log l WHERE l.id = ANY (entries) ORDER BY l.id;
    END`,
  },
};

/** Returns statements that make the functions in `schema`, a quoted name. */
export function ownerFunctions(schema: string): string[] {
  return Object.entries(FUNCTIONS).flatMap(([signature, { returns, body }]) => [
    `CREATE FUNCTION ${schema}.${signature} RETURNS ${returns} LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
     AS $$${body.replaceAll('SCHEMA.', `${schema}.`)} $$`,
    `REVOKE EXECUTE ON FUNCTION ${schema}.${signature} FROM PUBLIC`,
  ]);
}
