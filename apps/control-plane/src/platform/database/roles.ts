import type { DataSource, EntityManager } from 'typeorm';

/** Holds the names of the roles that use the owner's tables: the role of control planes and the reading role. */
export interface OtherRoles {
  runtime?: string | undefined;
  reader?: string | undefined;
}

const ADDED_ONLY = 'SELECT, INSERT';
const USUAL_RIGHTS = 'SELECT, INSERT, UPDATE, DELETE';
/** Holds the rights of control planes on tables where they have fewer than usual. Functions of the owner (`OwnerFunctions...`) do everything beyond them. */
const RUNTIME_RIGHTS: Readonly<Record<string, string>> = {
  ledger_transactions: ADDED_ONLY,
  ledger_entries: ADDED_ONLY,
  token_entries: ADDED_ONLY,
  price_versions: ADDED_ONLY,
  budget_entries: ADDED_ONLY,
  activity_log: ADDED_ONLY,
  // A reap that the books learned of first gets its position in the outbox later.
  usage_events: `${ADDED_ONLY}, UPDATE (shard, outbox_ms, outbox_n)`,
  usage_events_default: 'SELECT',
  migrations: 'SELECT',
};

/** Returns whether the session's role may create tables and therefore migrate. */
export async function mayMigrate(dataSource: DataSource): Promise<boolean> {
  const [row]: { may: boolean }[] = await dataSource.query(
    "SELECT has_schema_privilege(current_schema(), 'CREATE') AS may",
  );
  return row?.may === true;
}

/** Throws an error when the tables belong to another role than the session's. */
export async function requireOwnership(dataSource: DataSource): Promise<void> {
  const [foreign]: { name: string; owner: string; role: string }[] = await dataSource.query(
    `SELECT relname AS name, pg_get_userbyid(relowner) AS owner, current_user AS role FROM pg_class
     WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p') AND NOT pg_has_role(relowner, 'USAGE') LIMIT 1`,
  );
  if (foreign)
    throw new Error(
      `The table ${foreign.name} belongs to the role ${foreign.owner}, and ${foreign.role} migrates.\n  Fix: run tollgate-ops migrate once with DATABASE_ADMIN_URL, which hands all tables over.`,
    );
}

/** Grants the other roles their rights on every table and revokes all other rights. The owner calls it after migrations. */
export async function grantRights(owner: DataSource, roles: OtherRoles): Promise<void> {
  await requireRoles(owner, roles);
  await owner.transaction(async (tx) => {
    const tables = await ownTables(tx);
    const all = tables.map(({ name }) => quoted(name)).join(', ');
    const named = [roles.runtime, roles.reader].filter((name) => name !== undefined);
    for (const role of named) await tx.query(`REVOKE ALL ON ${all} FROM ${quoted(role)}`);
    if (roles.runtime !== undefined) await grantRuntime(tx, quoted(roles.runtime), tables);
    if (roles.reader !== undefined)
      await tx.query(`GRANT SELECT ON ${all} TO ${quoted(roles.reader)}`);
    // A backup holds the last number of each sequence.
    const sequences = (await ownSequences(tx)).join(', ');
    for (const role of named)
      await tx.query(`GRANT SELECT ON SEQUENCE ${sequences} TO ${quoted(role)}`);
  });
}

async function grantRuntime(
  tx: EntityManager,
  role: string,
  tables: readonly OwnTable[],
): Promise<void> {
  for (const { name, isView } of tables) {
    const rights = isView ? 'SELECT' : (RUNTIME_RIGHTS[name] ?? USUAL_RIGHTS);
    await tx.query(`GRANT ${rights} ON ${quoted(name)} TO ${role}`);
  }
  // Versions must never fall behind the ones that nodes know.
  await tx.query(`GRANT UPDATE ON SEQUENCE snapshots_version_seq TO ${role}`);
  const functions: { signature: string }[] = await tx.query(
    'SELECT oid::regprocedure::text AS signature FROM pg_proc WHERE pronamespace = current_schema()::regnamespace AND prosecdef AND proowner = current_user::regrole',
  );
  for (const { signature } of functions)
    await tx.query(`GRANT EXECUTE ON FUNCTION ${signature} TO ${role}`);
}

async function requireRoles(owner: DataSource, { runtime, reader }: OtherRoles): Promise<void> {
  const names = [runtime, reader].filter((name) => name !== undefined);
  const missing: { name: string }[] = await owner.query(
    'SELECT name FROM unnest($1::text[]) AS name WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name)',
    [names],
  );
  if (missing[0])
    throw new Error(
      `PostgreSQL has no role ${missing[0].name}.\n  Fix: run tollgate-ops migrate once with DATABASE_ADMIN_URL, which makes the roles.`,
    );
}

interface OwnTable {
  name: string;
  isView: boolean;
}

/**
 * Returns the owner's tables. Control planes reach the daily partitions of usage through their parent; rows that came before their day's partition
 * are in the default one.
 */
function ownTables(tx: EntityManager): Promise<OwnTable[]> {
  return tx.query(
    `SELECT relname AS name, relkind = 'v' AS "isView" FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p', 'v')
       AND relowner = current_user::regrole AND (NOT relispartition OR relname = 'usage_events_default') ORDER BY 1`,
  );
}

async function ownSequences(tx: EntityManager): Promise<string[]> {
  const rows: { name: string }[] = await tx.query(
    "SELECT oid::regclass::text AS name FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind = 'S' AND relowner = current_user::regrole",
  );
  return rows.map(({ name }) => name);
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
