import type { MigrationInterface, QueryRunner } from 'typeorm';

const SIGNATURE = 'erase_entries(account integer, is_dry_run boolean)';
const TYPES = 'erase_entries(integer, boolean)';
const FORMER = 'erase_entries(bigint[])';

/** By the person, about the person, about what of theirs (its entry has names and addresses), or with the name in what changed. Erasures name no person and stay, because they excuse what they emptied. */
const OF_PERSON = `l.action <> 'user.erase' AND (l.action <> 'user.ask-erasure' OR l.actor_user_id = account)
  AND num_nonnulls(l.actor_name, l.address, l.before, l.after) > 0
  AND (l.actor_user_id = account OR (l.target_kind = 'user' AND l.target_id = account::text)
    OR (l.target_kind IN ('key', 'session', 'access_token') AND account::text IN (l.before ->> 'user_id', l.after ->> 'user_id'))
    OR l.before @? format('$.**.username ? (@ == %s)', to_json(person))::jsonpath OR l.after @? format('$.**.username ? (@ == %s)', to_json(person))::jsonpath)`;

/** Empties the entries of the activity log that name the person of a deleted account. The function chooses them: its caller could name any entry before. */
export class GuardedErasure1795353000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const schema = await schemaOf(runner);
    await runner.query(`DROP FUNCTION ${FORMER}`);
    await create(
      runner,
      `${schema}.${SIGNATURE} RETURNS TABLE (entry_id bigint, entry_hash text)`,
      `DECLARE
         person text := (SELECT username FROM ${schema}.users WHERE id = account AND status = 'deleted');
         entries bigint[];
       BEGIN
         IF person IS NULL THEN
           RAISE EXCEPTION 'the account % is not deleted', account USING ERRCODE = 'invalid_parameter_value';
         END IF;
         entries := ARRAY(SELECT l.id FROM ${schema}.activity_log l WHERE ${OF_PERSON} ORDER BY l.id);
         IF NOT is_dry_run THEN
           ${emptied(schema)}
         END IF;
         RETURN QUERY SELECT l.id, l.hash FROM ${schema}.activity_log l WHERE l.id = ANY (entries) ORDER BY l.id;
       END`,
    );
    await runner.query(`REVOKE EXECUTE ON FUNCTION ${schema}.${TYPES} FROM PUBLIC`);
  }

  async down(runner: QueryRunner): Promise<void> {
    const schema = await schemaOf(runner);
    await runner.query(`DROP FUNCTION ${TYPES}`);
    await create(
      runner,
      `${schema}.erase_entries(entries bigint[]) RETURNS void`,
      `BEGIN ${emptied(schema)} END`,
    );
    await runner.query(`REVOKE EXECUTE ON FUNCTION ${schema}.${FORMER} FROM PUBLIC`);
  }
}

async function schemaOf(runner: QueryRunner): Promise<string> {
  const [row]: { schema: string }[] = await runner.query(
    'SELECT quote_ident(current_schema()) AS schema',
  );
  return row?.schema ?? 'public';
}

async function create(runner: QueryRunner, head: string, body: string): Promise<void> {
  await runner.query(
    `CREATE FUNCTION ${head} LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$ ${body} $$`,
  );
}

function emptied(schema: string): string {
  return `PERFORM set_config('tollgate.erasing', 'on', true);
    UPDATE ${schema}.activity_log SET actor_name = NULL, address = NULL, before = NULL, after = NULL WHERE id = ANY (entries);
    PERFORM set_config('tollgate.erasing', '', true);`;
}
