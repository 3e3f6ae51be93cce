import { answerOf, createAdminClient, type AdminClient } from '@tollgate/admin-client';
import { UsageError } from './failure.ts';
import type { OutputFormat } from './print.ts';
import { readPassword } from './read-password.ts';
import { readSession } from './session-file.ts';

const LOOPBACK = new Set(['127.0.0.1', 'localhost', '[::1]']);

/** Every command has these options. */
export interface Shared {
  url?: string;
  json?: boolean;
  output?: OutputFormat;
}

/** `--json` is short for `--output json`; the default is tables. */
export function outputOf({ json, output }: Shared): OutputFormat {
  return output ?? (json ? 'json' : 'table');
}

/** Returns the server: `--url`, TOLLGATE_URL, the one of the last login, or the one of this checkout. */
export function serverUrl({ url }: Shared): string {
  const found =
    url ??
    (process.env['TOLLGATE_URL'] ||
      readSession(process.env)?.url ||
      process.env['TOLLGATE_URL_OF_CHECKOUT']);
  if (!found)
    throw new UsageError(
      'Which server?\n  Fix: tollgate login --url https://gateway.example.com USERNAME, or set TOLLGATE_URL and TOLLGATE_TOKEN. npm start runs a server here.',
    );
  if (!URL.canParse(found)) throw new UsageError(`${found} is not a URL.`);
  return found;
}

/** Throws UsageError when there is no token. A token that was saved for one server is never sent to another. */
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
      `You are not signed in to ${baseUrl}.\n  Fix: tollgate login --url ${baseUrl} USERNAME, or set TOLLGATE_TOKEN.${hint(baseUrl)}`,
    );
  warnOfOtherCheckout(shared, baseUrl);
  return createAdminClient({
    baseUrl,
    token,
    confirmPassword: () => confirmPassword(createAdminClient({ baseUrl, token })),
  });
}

/** Asks for the password that calls need which create administrators and tokens. */
async function confirmPassword(client: AdminClient): Promise<boolean> {
  if (!process.stdin.isTTY)
    throw new UsageError(
      'This needs your password again, and there is no terminal to ask for it on.\n  Fix: tollgate login, then repeat the command within 15 minutes.',
    );
  process.stderr.write('This needs your password again.\n');
  const password = await readPassword({ fromStdin: false });
  await answerOf(client.POST('/admin-api/auth/confirm-password', { body: { password } }));
  return true;
}

/** Warns when the login belongs to another checkout: two checkouts share one login. A command that names a server gets no warning. */
function warnOfOtherCheckout({ url }: Shared, baseUrl: string): void {
  const ofCheckout = process.env['TOLLGATE_URL_OF_CHECKOUT'];
  if (!ofCheckout || url || process.env['TOLLGATE_URL']) return;
  const own = [ofCheckout, process.env['TOLLGATE_ADMIN_URL_OF_CHECKOUT'] || ofCheckout];
  const { origin, hostname } = new URL(baseUrl);
  if (!LOOPBACK.has(hostname) || own.some((address) => new URL(address).origin === origin)) return;
  process.stderr.write(
    `This is about ${origin}, where you are signed in. The installation of this checkout is ${ofCheckout}: tollgate login --url ${ofCheckout} USERNAME\n`,
  );
}

/** A newcomer has not opened the file with the passwords of `npm start` yet. */
function hint(baseUrl: string): string {
  return baseUrl === process.env['TOLLGATE_URL_OF_CHECKOUT']
    ? ' The users of npm start, and their passwords, are in .tollgate/start.json.'
    : '';
}
