import type { IncomingHttpHeaders } from 'node:http';
import type { NamedScopes } from '@tollgate/keyspace';
import type { Ask } from '@tollgate/protocols';

/** Coding clients name their session in these headers: Claude Code and Codex. */
const SESSION_HEADERS = ['x-claude-code-session-id', 'session-id', 'session_id'] as const;
/** Any client can name an agent's run, or its end user, in these headers. */
const RUN_HEADER = 'x-tollgate-run';
const END_USER_HEADER = 'x-tollgate-end-user';

/** Returns the session that a client names, by which routing knows sessions; undefined when it names none. */
export function namedSession(
  headers: IncomingHttpHeaders,
  { prompt_cache_key: cacheKey, metadata }: Ask['body'],
): string | undefined {
  for (const name of SESSION_HEADERS) {
    const value = textOf(headers[name]);
    if (value !== undefined) return value;
  }
  return textOf(cacheKey) ?? userOf(metadata);
}

/** Returns the session and the end user by which budgets count. They are the caller's word, which nothing proves. */
export function namedScopes(headers: IncomingHttpHeaders, body: Ask['body']): NamedScopes {
  const { safety_identifier: safetyIdentifier, user, metadata } = body;
  const session = textOf(headers[RUN_HEADER]) ?? namedSession(headers, body);
  const end_user =
    textOf(headers[END_USER_HEADER]) ??
    textOf(safetyIdentifier) ??
    textOf(user) ??
    userOf(metadata);
  return { ...(session !== undefined && { session }), ...(end_user !== undefined && { end_user }) };
}

function userOf(metadata: unknown): string | undefined {
  return typeof metadata === 'object' && metadata !== null && 'user_id' in metadata
    ? textOf(metadata.user_id)
    : undefined;
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
