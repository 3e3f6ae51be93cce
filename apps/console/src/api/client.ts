import { answerOf, createAdminClient, type components } from '@tollgate/admin-client';
import { GATEWAY } from '../paths.ts';
import { askPassword } from './password-question.ts';

/** A person does not look at an empty page for longer. */
const ANSWER_MS = 15_000;

/** Calls the administration interface with the session's cookie, which the browser adds by itself. */
export const client = createAdminClient({
  baseUrl: GATEWAY,
  timeoutMs: ANSWER_MS,
  confirmPassword: askPassword,
});

/** Bounds calls that take as long as another party does, such as the test of an upstream. */
export const patientClient = createAdminClient({ baseUrl: GATEWAY });

export type Shape<Name extends keyof components['schemas']> = components['schemas'][Name];

/** Holds one page of a list that is paged by number. */
export interface ListOf<Row> {
  data: Row[];
  page: number;
  page_size: number;
  total: number;
}

/** Returns the data of an answer that may also be asked for as CSV, which these calls never do. */
export async function dataOf<T>(
  call: Promise<{ data?: T; error?: unknown; response: Response }>,
): Promise<Exclude<T, string>> {
  return (await answerOf(call)) as Exclude<T, string>;
}

/** Is omitted rather than sent empty: the server refuses what it does not know. */
export function present<Query extends object>(query: Query) {
  return Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined)) as {
    [Name in keyof Query]: Exclude<Query[Name], undefined>;
  };
}

/** Returns the address of an export's download: the browser fetches it as a file, with the session's cookie. */
export function exportAddress(
  path:
    | '/admin-api/usage/logs'
    | '/admin-api/wallet/logs'
    | `/admin-api/subscriptions/${number}/ledger`,
  query: Readonly<Record<string, string | number | undefined>>,
): string {
  const pairs = Object.entries<string | number | undefined>({ ...query, format: 'csv' }).flatMap(
    ([name, value]) => (value === undefined ? [] : [[name, String(value)]]),
  );
  return `${GATEWAY}${path}?${new URLSearchParams(pairs).toString()}`;
}

/** Made when a form opens, so that one form acts once, however often it is sent. Not randomUUID: plain HTTP on a LAN has none. */
export function newIdempotencyKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, '0'),
  ).join('');
}
