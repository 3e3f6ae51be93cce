import { queryOptions } from '@tanstack/react-query';
import { client, dataOf, type Shape } from './client.ts';

export type SessionEntry = Shape<'SessionEntry'>;
export type AccessToken = Shape<'AccessToken'>;
export type TokenScope = AccessToken['scope'];

export const sessionsQuery = (userId: number) =>
  queryOptions({
    queryKey: ['sessions', userId],
    queryFn: () =>
      dataOf(
        client.GET('/admin-api/auth/sessions', {
          params: { query: { user_id: userId, sort: '-last_seen_at', page_size: 100 } },
        }),
      ),
  });

export const accessTokensQuery = (userId: number) =>
  queryOptions({
    queryKey: ['access-tokens', userId],
    queryFn: () =>
      dataOf(
        client.GET('/admin-api/auth/tokens', {
          params: { query: { user_id: userId, sort: '-created_at', page_size: 100 } },
        }),
      ),
  });

export function endSession(sid: string) {
  return dataOf(client.DELETE('/admin-api/auth/sessions/{sid}', { params: { path: { sid } } }));
}

export function createAccessToken({
  idempotencyKey,
  ...body
}: {
  name: string;
  scope: TokenScope;
  expires_at?: string;
  idempotencyKey: string;
}) {
  return dataOf(
    client.POST('/admin-api/auth/tokens', {
      params: { header: { 'Idempotency-Key': idempotencyKey } },
      body,
    }),
  );
}

export type MadeByToken = Shape<'MadeByToken'>;

/** Reads the newest records that a token made. */
export const madeByTokenQuery = (id: number) =>
  queryOptions({
    queryKey: ['made-by-token', id],
    queryFn: () =>
      dataOf(
        client.GET('/admin-api/auth/tokens/{id}/made', {
          params: { path: { id }, query: { page_size: 10 } },
        }),
      ),
  });

export function disableMadeByToken(id: number) {
  return dataOf(
    client.POST('/admin-api/auth/tokens/{id}/disable-made', { params: { path: { id } } }),
  );
}

export function revokeAccessToken(id: number) {
  return dataOf(client.DELETE('/admin-api/auth/tokens/{id}', { params: { path: { id } } }));
}
