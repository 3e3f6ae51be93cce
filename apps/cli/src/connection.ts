import { createAdminClient, type AdminClient } from '@tollgate/admin-client';
import { UsageError } from './failure.ts';
import type { OutputFormat } from './print.ts';
import { readSession } from './session-file.ts';

/** Options of every command. */
export interface Shared {
  url?: string;
  json?: boolean;
  output?: OutputFormat;
}

/** `--json` is short for `--output json`; people get tables. */
export function outputOf({ json, output }: Shared): OutputFormat {
  return output ?? (json ? 'json' : 'table');
}

/** The server to talk to: `--url`, TOLLGATE_URL, or the one signed in to. */
export function serverUrl({ url }: Shared): string {
  const found = url ?? (process.env['TOLLGATE_URL'] || readSession(process.env)?.url);
  if (found === undefined)
    throw new UsageError(
      'Which server?\n  Fix: tollgate login --url https://gateway.example.com, or set TOLLGATE_URL and TOLLGATE_TOKEN. npm start runs a server here.',
    );
  if (!URL.canParse(found)) throw new UsageError(`${found} is no URL.`);
  return found;
}

/** Throws UsageError where there is no token. One saved for a server is never sent to another. */
export function connect(shared: Shared): AdminClient {
  const baseUrl = serverUrl(shared);
  const session = readSession(process.env);
  const token =
    process.env['TOLLGATE_TOKEN'] ||
    (session && new URL(session.url).origin === new URL(baseUrl).origin
      ? session.token
      : undefined);
  if (token === undefined)
    throw new UsageError(
      `You are not signed in to ${baseUrl}.\n  Fix: tollgate login --url ${baseUrl}, or set TOLLGATE_TOKEN.`,
    );
  return createAdminClient({ baseUrl, token });
}
