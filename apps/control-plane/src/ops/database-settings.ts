import { z } from 'zod';
import { configSchema } from '../config.ts';

const databaseUrl = () => configSchema.shape.DATABASE_URL;

/** Describes the settings that `tollgate-ops` reads beside those of the control plane. */
export const databaseSettings = z.object({
  DATABASE_OWNER_URL: databaseUrl()
    .optional()
    .describe(
      'PostgreSQL as the role that owns the tables; migrate and restore use it. Without it DATABASE_URL.',
    ),
  DATABASE_READER_URL: databaseUrl()
    .optional()
    .describe(
      'PostgreSQL as a role that only reads; audit, verify and backup use it. Without it DATABASE_URL.',
    ),
  DATABASE_ADMIN_URL: databaseUrl()
    .optional()
    .describe(
      'PostgreSQL as its administrator: migrate makes the roles that the other three addresses name, with their passwords, and hands all tables to the owner.',
    ),
});

/** Is the role as which a command works. */
export type DatabaseRole = 'owner' | 'runtime' | 'reader';

const SETTING_OF = {
  owner: 'DATABASE_OWNER_URL',
  reader: 'DATABASE_READER_URL',
} as const;

/** Throws an Error that names the variable. */
export function databaseUrlOf(role: DatabaseRole): string {
  const name = role === 'runtime' ? 'DATABASE_URL' : SETTING_OF[role];
  if (role !== 'runtime' && !process.env[name]) return databaseUrlOf('runtime');
  const parsed = configSchema.shape.DATABASE_URL.safeParse(process.env[name]);
  if (!parsed.success) throw new Error(`${name} is not set, or is not a valid address.`);
  return parsed.data;
}

/** Returns undefined unless it is set. */
export function administratorUrl(): string | undefined {
  const { DATABASE_ADMIN_URL: url } = process.env;
  if (!url) return undefined;
  const parsed = configSchema.shape.DATABASE_URL.safeParse(url);
  if (!parsed.success) throw new Error('DATABASE_ADMIN_URL is not a valid address.');
  return parsed.data;
}

export interface Login {
  name: string;
  password: string;
}

/** Returns the name of a role in an address. */
export function loginOf(role: DatabaseRole): Login {
  const { username, password } = new URL(databaseUrlOf(role));
  if (username === '') throw new Error(`The address of the ${role} names no role of PostgreSQL.`);
  return { name: decodeURIComponent(username), password: decodeURIComponent(password) };
}

/** Returns the roles beside the owner; none where one role does everything. */
export function otherRoles(): { runtime?: string; reader?: string } {
  if (!process.env.DATABASE_OWNER_URL) return {};
  const runtime = loginOf('runtime').name;
  if (runtime === loginOf('owner').name) return {};
  return { runtime, ...(process.env.DATABASE_READER_URL && { reader: loginOf('reader').name }) };
}
