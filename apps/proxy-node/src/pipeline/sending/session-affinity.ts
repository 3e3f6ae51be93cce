import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { Ask } from '@tollgate/protocols';

/** Coding clients name their session in a header: Claude Code and Codex. */
const SESSION_HEADERS = ['x-claude-code-session-id', 'session-id', 'session_id'] as const;
/** Providers cache no prompt below about 1,024 tokens, so what begins alike for so many bytes is what can be found again. */
const CACHED_PREFIX_BYTES = 4_096;
/** The longest that a provider keeps an unused prompt cache. */
const REMEMBER_MS = 3_600_000;
const SESSIONS_MAX = 20_000;

/**
 * Which route served a session last, so that its next request finds the prompt cache warm. A wish only: `route` follows it among the
 * candidates that are free, in the first group that has one. Least recently used sessions are forgotten first.
 */
export class SessionAffinity {
  readonly #sessions = new Map<string, { routeId: number; until: number }>();
  readonly sessionsMax: number;

  constructor(sessionsMax = SESSIONS_MAX) {
    this.sessionsMax = sessionsMax;
  }

  get size(): number {
    return this.#sessions.size;
  }

  routeOf(session: string | null, now: number): number | null {
    const known = session === null ? undefined : this.#sessions.get(session);
    return known && known.until > now ? known.routeId : null;
  }

  served(session: string | null, routeId: number, now: number): void {
    if (session === null) return;
    this.#sessions.delete(session);
    this.#sessions.set(session, { routeId, until: now + REMEMBER_MS });
    if (this.#sessions.size <= this.sessionsMax) return;
    const [oldest] = this.#sessions.keys();
    if (oldest !== undefined) this.#sessions.delete(oldest);
  }
}

/**
 * The session a request belongs to, as its client names it, else by what its body begins with; null for a short body that names none.
 * Always of one account and model: no account can steer or observe the sessions of another.
 */
export function sessionOf({
  accountId,
  modelId,
  headers,
  ask,
}: {
  accountId: number;
  modelId: number;
  headers: IncomingHttpHeaders;
  ask: Pick<Ask, 'body' | 'raw'>;
}): string | null {
  const named = namedSession(headers, ask.body);
  if (named === undefined && ask.raw.length < CACHED_PREFIX_BYTES) return null;
  const digest =
    named === undefined
      ? hash('sha256', ask.raw.subarray(0, CACHED_PREFIX_BYTES), 'base64url')
      : hash('sha256', `named ${named}`, 'base64url');
  return `${accountId}/${modelId}/${digest}`;
}

function namedSession(
  headers: IncomingHttpHeaders,
  { prompt_cache_key: cacheKey, metadata }: Ask['body'],
): string | undefined {
  for (const name of SESSION_HEADERS) {
    const value = headers[name];
    if (typeof value === 'string' && value !== '') return value;
  }
  if (typeof cacheKey === 'string' && cacheKey !== '') return cacheKey;
  const user =
    typeof metadata === 'object' && metadata !== null && 'user_id' in metadata
      ? metadata.user_id
      : undefined;
  return typeof user === 'string' && user !== '' ? user : undefined;
}
