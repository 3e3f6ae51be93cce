import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { client, dataOf, type Shape } from './client.ts';
import type { LimitName } from './tables.ts';

export type Alert = Shape<'Alert'>;

export type ActivityEntry = Shape<'ActivityEntry'>;

export type Books = Shape<'Books'>;

export const ADMIN_PAGE_SIZE = 50;

export const dashboardQuery = queryOptions({
  queryKey: ['dashboard'],
  queryFn: () => dataOf(client.GET('/admin-api/admin/dashboard')),
});

export const installationStepsQuery = queryOptions({
  queryKey: ['dashboard', 'first-steps'],
  queryFn: () => dataOf(client.GET('/admin-api/admin/first-steps')),
});

export const alertsQuery = (query: {
  page?: number;
  status: 'open' | 'resolved' | 'all';
  rule?: Alert['rule'];
}) =>
  queryOptions({
    queryKey: ['alerts', query],
    queryFn: () =>
      dataOf(
        client.GET('/admin-api/admin/alerts', {
          params: { query: { ...query, page_size: ADMIN_PAGE_SIZE } },
        }),
      ),
    placeholderData: keepPreviousData,
  });

export interface ActivityQuestion {
  cursor?: string;
  action?: string;
  target_kind?: string;
  target_id?: string;
  from?: string;
  to?: string;
}

export const activityQuery = (query: ActivityQuestion) =>
  queryOptions({
    queryKey: ['activity', query],
    queryFn: () =>
      dataOf(
        client.GET('/admin-api/activity/logs', {
          params: { query: { ...query, page_size: ADMIN_PAGE_SIZE } },
        }),
      ),
    placeholderData: keepPreviousData,
  });

export const ceilingsQuery = queryOptions({
  queryKey: ['ceilings'],
  queryFn: () => dataOf(client.GET('/admin-api/admin/ceilings')),
});

export function setCeilings(body: Record<LimitName, number>) {
  return dataOf(client.PUT('/admin-api/admin/ceilings', { body }));
}

export const booksQuery = queryOptions({
  queryKey: ['books'],
  queryFn: () => dataOf(client.GET('/admin-api/admin/books')),
});

export function runBooks() {
  return dataOf(client.POST('/admin-api/admin/books/run'));
}

export const deadLettersQuery = (status: 'open' | 'resolved') =>
  queryOptions({
    queryKey: ['books', 'dead-letters', status],
    queryFn: () =>
      dataOf(
        client.GET('/admin-api/admin/dead-letters', {
          params: { query: { status, page_size: ADMIN_PAGE_SIZE } },
        }),
      ),
  });

export function dismissDeadLetter(id: number, note: string) {
  return dataOf(
    client.POST('/admin-api/admin/dead-letters/{id}/dismiss', {
      params: { path: { id } },
      body: { note },
    }),
  );
}

export function bookDeadLetter(id: number, note: string) {
  return dataOf(
    client.POST('/admin-api/admin/dead-letters/{id}/book', {
      params: { path: { id } },
      body: note === '' ? {} : { note },
    }),
  );
}
