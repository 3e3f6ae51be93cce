import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { ROOT } from '../checkout.ts';

/** Holds the rights of PostgreSQL's roles besides its administrator, in one file for every way of starting PostgreSQL. */
const ROLES_FILE = path.join(ROOT, 'deploy', 'postgres', 'roles.sql');

const ROLE_NAMES = {
  owner: 'tollgate_owner',
  runtime: 'tollgate_runtime',
  reader: 'tollgate_reader',
} as const;
type Role = keyof typeof ROLE_NAMES;
const ROLES = Object.keys(ROLE_NAMES) as Role[];

/** Holds the address of a database as each role has it. */
export type RoleUrls = Record<Role, string>;

/** Holds the addresses of the roles; the runtime's alone where that role does everything. */
export interface DatabaseUrls {
  /** Is DATABASE_URL of control planes. */
  runtime: string;
  /** Is DATABASE_OWNER_URL, which migrates and restores. It is undefined where the runtime does both. */
  owner: string | undefined;
  /** Is DATABASE_READER_URL of tollgate-ops. */
  reader: string | undefined;
}

/**
 * Writes statements that make the roles in the database of the session that runs them; an empty line ends each, as a single-user session needs it. Their passwords are derived from the administrator's, which cannot be found out from them.
 */
export function rolesSql(administratorPassword: string): string {
  const settings = ROLES.flatMap((role) => [
    setting(role, ROLE_NAMES[role]),
    setting(`${role}_password`, passwordOf(role, administratorPassword)),
  ]);
  const roles = readFileSync(ROLES_FILE, 'utf8').replaceAll(/\n{2,}/g, '\n');
  // A SELECT would print the settings.
  return `DO $$ BEGIN PERFORM ${settings.join(', ')}; END $$;\n\n${roles}\n\n`;
}

/** `url` is the administrator's, of a server that was started with `rolesSql`. */
export function databaseUrlsOf(url: string, administratorPassword: string): RoleUrls {
  const as = (role: Role): string => {
    const named = new URL(url);
    named.username = ROLE_NAMES[role];
    named.password = passwordOf(role, administratorPassword);
    return named.href;
  };
  return { runtime: as('runtime'), owner: as('owner'), reader: as('reader') };
}

/** Reads the addresses that the environment names, of an external PostgreSQL. */
export function namedDatabaseUrls(runtime: string, environment: NodeJS.ProcessEnv): DatabaseUrls {
  const { DATABASE_OWNER_URL: owner, DATABASE_READER_URL: reader } = environment;
  return { runtime, owner, reader };
}

/** Makes the environment in which `tollgate-ops` reaches the database with the role of each command. */
export function opsEnvironment(urls: DatabaseUrls): Record<string, string> {
  const { runtime, owner, reader } = urls;
  return {
    DATABASE_URL: runtime,
    ...(owner && { DATABASE_OWNER_URL: owner }),
    ...(reader && { DATABASE_READER_URL: reader }),
  };
}

function setting(name: string, value: string): string {
  return `set_config('tollgate.${name}', '${value}', false)`;
}

function passwordOf(role: Role, administratorPassword: string): string {
  return createHmac('sha256', administratorPassword)
    .update(`postgres role ${role}`)
    .digest('base64url');
}
