import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import type { paths } from '@tollgate/admin-client';
import { client, dataOf, type Shape } from './client.ts';

export type Key = Shape<'ListedKey'>;
export type CreatedKey = Shape<'CreatedKey'>;
export type KeyWindow = Shape<'KeyWindows'>['windows'][number];
export const PAGE_SIZE = 50;

export const KEY_SORTS = ['-created_at', 'created_at', 'name', '-name'] as const;

export interface KeysQuestion {
  user_id: number;
  page?: number;
  q?: string;
  status?: 'enabled' | 'disabled';
  sort?: 'id' | '-id' | 'name' | '-name' | 'created_at' | '-created_at';
}

export const keysQuery = (query: KeysQuestion) =>
  queryOptions({
    queryKey: ['keys', query],
    queryFn: () =>
      dataOf(
        client.GET('/admin-api/keys', { params: { query: { ...query, page_size: PAGE_SIZE } } }),
      ),
    placeholderData: keepPreviousData,
  });

export const keyQuery = (id: number) =>
  queryOptions({
    queryKey: ['keys', id],
    queryFn: () => dataOf(client.GET('/admin-api/keys/{id}', { params: { path: { id } } })),
  });

/** Reads how full each window of requests is now. */
export const keyWindowsQuery = (id: number) =>
  queryOptions({
    queryKey: ['keys', id, 'windows'],
    queryFn: () => dataOf(client.GET('/admin-api/keys/{id}/windows', { params: { path: { id } } })),
  });

/** Reads the windows of several keys, in one request. */
export const keysWindowsQuery = (ids: readonly number[]) =>
  queryOptions({
    queryKey: ['keys', 'windows', ids],
    queryFn: async () => {
      const { data } = await dataOf(
        client.GET('/admin-api/keys/windows', { params: { query: { ids: ids.join(',') } } }),
      );
      return data;
    },
    placeholderData: keepPreviousData,
  });

type UpdateKey = paths['/admin-api/keys/{id}']['put']['requestBody'];

/** Has every field that a form of a key sends; one that the interface gains must be in the form. */
export type KeySettings = Required<UpdateKey['content']['application/json']>;

export function createKey(body: KeySettings & { user_id: number }, idempotencyKey: string) {
  return dataOf(
    client.POST('/admin-api/keys', {
      params: { header: { 'Idempotency-Key': idempotencyKey } },
      body,
    }),
  );
}

/** Makes another key like this one; the old one ends after the overlap. */
export function rotateKey(id: number, overlapMinutes: number, idempotencyKey: string) {
  return dataOf(
    client.POST('/admin-api/keys/{id}/rotate', {
      params: { path: { id }, header: { 'Idempotency-Key': idempotencyKey } },
      body: { overlap_minutes: overlapMinutes },
    }),
  );
}

export function updateKey(id: number, body: KeySettings) {
  return dataOf(client.PUT('/admin-api/keys/{id}', { params: { path: { id } }, body }));
}

export function enableKey(id: number) {
  return dataOf(client.POST('/admin-api/keys/{id}/enable', { params: { path: { id } } }));
}

export function disableKey(id: number) {
  return dataOf(client.POST('/admin-api/keys/{id}/disable', { params: { path: { id } } }));
}

export function deleteKey(id: number) {
  return dataOf(client.DELETE('/admin-api/keys/{id}', { params: { path: { id } } }));
}
