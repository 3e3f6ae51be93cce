import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { boundsOf, type TimeRange } from './range-bounds.ts';
import { client, dataOf, present, type Shape } from './client.ts';
import { FRESH_MS } from './live.ts';

export type UsageLog = Shape<'UsageLog'>;
export type UsageReceipt = Shape<'UsageReceipt'>;
export type UsageStatistics = Shape<'UsageStatistics'>;
export type StatisticsRow = UsageStatistics['data'][number];
export type Outcome = NonNullable<UsageLog['outcome']>;
export type Group = 'model' | 'key' | 'user' | 'upstream';

/** Holds what narrows usage down; the same for charts and lists. */
export interface UsageFilter {
  user_id?: number | undefined;
  key_id?: number | undefined;
  model_id?: number | undefined;
  upstream_id?: number | undefined;
}

export interface RequestsQuestion extends UsageFilter {
  outcome?: Outcome | undefined;
  is_completed?: 'false' | undefined;
  node?: string | undefined;
  cursor?: string | undefined;
  page_size?: number;
}

export const requestsQuery = (question: RequestsQuestion, range: TimeRange) =>
  queryOptions({
    queryKey: ['usage', question, range],
    queryFn: () =>
      dataOf(
        client.GET('/admin-api/usage/logs', {
          params: { query: present({ page_size: 25, ...question, ...boundsOf(range) }) },
        }),
      ),
    placeholderData: keepPreviousData,
  });

/** Reads one request in the list; it is undefined until it is booked. The list is asked, because a missing request is no error there yet. */
export const bookedQuery = (rid: string) =>
  queryOptions({
    queryKey: ['usage', 'booked', rid],
    queryFn: async () => {
      const { data } = await dataOf(
        client.GET('/admin-api/usage/logs', { params: { query: { rid } } }),
      );
      return data[0] ?? null;
    },
  });

export const receiptQuery = (rid: string) =>
  queryOptions({
    queryKey: ['usage', 'receipt', rid],
    queryFn: () =>
      dataOf(client.GET('/admin-api/usage/logs/{rid}/receipt', { params: { path: { rid } } })),
  });

export const statisticsQuery = (
  question: UsageFilter & { group_by?: Group | undefined },
  range: TimeRange,
) =>
  queryOptions({
    queryKey: ['statistics', question, range],
    queryFn: () =>
      dataOf(
        client.GET('/admin-api/usage/statistics', {
          params: {
            query: present({ ...question, interval: range.interval, ...boundsOf(range) }),
          },
        }),
      ),
    placeholderData: keepPreviousData,
  });

export type UsageTop = Shape<'UsageTop'>;

/** Holds who or what used the most, with the rest and the sum of all. */
export const topQuery = (
  question: {
    group_by: UsageTop['group_by'];
    by: UsageTop['by'];
    model_id?: number;
    limit?: number;
  },
  range: TimeRange,
) =>
  queryOptions({
    queryKey: ['statistics', 'top', question, range],
    queryFn: () =>
      dataOf(
        client.GET('/admin-api/usage/top', {
          params: { query: { ...question, interval: range.interval, ...boundsOf(range) } },
        }),
      ),
    placeholderData: keepPreviousData,
  });

/** Reads which first steps the account that is signed in has done. */
export const firstStepsQuery = queryOptions({
  queryKey: ['usage', 'first-steps'],
  queryFn: () => dataOf(client.GET('/admin-api/first-steps')),
  // The first steps of an account that has made its first call stay complete.
  staleTime: ({ state }) => (state.data?.is_complete === true ? Infinity : FRESH_MS),
});
