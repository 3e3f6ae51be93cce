import createClient, { type Client } from 'openapi-fetch';
import type { components, paths } from './__generated__/admin-api.ts';

export type AdminClient = Client<paths>;
export type Problem = components['schemas']['Problem'];

/** The longest route, sync-all, waits 10 seconds for nodes. */
const TIMEOUT_MS = 60_000;

export interface AdminClientOptions {
  /** Is the origin that answers /admin-api, such as `https://gateway.example.com`. */
  baseUrl: string;
  /** Comes from `POST /admin-api/auth/login`; undefined for the public routes. */
  token?: string | undefined;
  timeoutMs?: number;
  /** Asks for the password of the session and gives it to the server. It returns true when a call that needed it is to be repeated. */
  confirmPassword?: () => Promise<boolean>;
}

/** Offers the whole administration interface, typed from its API document: `client.GET('/admin-api/keys/{id}', { params: { path: { id: 7 } } })`. */
export function createAdminClient({
  baseUrl,
  token,
  timeoutMs = TIMEOUT_MS,
  confirmPassword,
}: AdminClientOptions): AdminClient {
  const send = (request: Request): Promise<Response> =>
    globalThis.fetch(request, { signal: AbortSignal.timeout(timeoutMs) });
  return createClient<paths>({
    baseUrl: baseUrl.replace(/\/+$/, ''),
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
    fetch: async (request) => {
      if (!confirmPassword || request.method === 'GET') return send(request);
      const again = request.clone();
      const answer = await send(request);
      return (await needsPassword(answer)) && (await confirmPassword()) ? send(again) : answer;
    },
  });
}

async function needsPassword(answer: Response): Promise<boolean> {
  if (answer.status !== 403) return false;
  const problem: unknown = await answer
    .clone()
    .json()
    .catch(() => undefined);
  return isProblem(problem) && problem.code === 'password_needed';
}

/** The interface said no. The message is fit for a person. */
export class AdminRefusal extends Error {
  readonly status: number;
  /** Names the kind of refusal; the message says more, of the first field where fields are wrong. */
  readonly title: string;
  /** Is `unknown` when the answer was no problem+json, as from a proxy in between. */
  readonly code: string;
  /** Lists the fields that are wrong, with the reason. */
  readonly fields: Problem['errors'];
  readonly requestId: string | undefined;

  constructor(status: number, body: unknown) {
    const problem = isProblem(body) ? body : undefined;
    super(problem?.detail ?? `The server answered ${status}`);
    this.status = status;
    this.title = problem?.title ?? this.message;
    this.code = problem?.code ?? 'unknown';
    this.fields = problem?.errors ?? [];
    this.requestId = problem?.request_id;
  }
}

/** Returns the data of an answer; throws AdminRefusal. Where nothing answers, `fetch` throws its own TypeError. */
export async function answerOf<T>(
  call: Promise<{ data?: T; error?: unknown; response: Response }>,
): Promise<T> {
  const { data, error, response } = await call;
  if (!response.ok) throw new AdminRefusal(response.status, error);
  // 204 has no data, and its type says so.
  return data as T;
}

function isProblem(body: unknown): body is Problem {
  return (
    typeof body === 'object' &&
    body !== null &&
    'code' in body &&
    'detail' in body &&
    'errors' in body &&
    Array.isArray(body.errors)
  );
}

/** Names the API document from which this client is generated (OpenAPI 3.1, JSON). */
export const API_DOCUMENT = new URL(
  /* @vite-ignore: no page reads it */ '../openapi.json',
  import.meta.url,
);
