import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { client, dataOf, present, type Shape } from './client.ts';
import { boundsOf, type TimeRange } from './range-bounds.ts';

const RUNNING_MS = 1_000;

export type RefusedRequest = Shape<'RefusedRequest'>;
export type RefusalCounts = Shape<'RefusalCounts'>;
export type UpstreamError = Shape<'UpstreamError'>;

export interface RefusedQuestion {
  user_id?: number | undefined;
  key_id?: number | undefined;
  cursor?: string | undefined;
}

export const refusedQuery = (question: RefusedQuestion, range: TimeRange) =>
  queryOptions({
    queryKey: ['incidents', 'refused', question, range],
    queryFn: () =>
      dataOf(
        client.GET('/admin-api/refused-requests', {
          params: { query: present({ page_size: 25, ...question, ...boundsOf(range) }) },
        }),
      ),
    placeholderData: keepPreviousData,
  });

export const refusalCountsQuery = (
  { user_id, key_id }: Omit<RefusedQuestion, 'cursor'>,
  range: TimeRange,
) =>
  queryOptions({
    queryKey: ['incidents', 'counts', user_id, key_id, range],
    queryFn: () =>
      dataOf(
        client.GET('/admin-api/refused-requests/counts', {
          params: { query: present({ user_id, key_id, ...boundsOf(range) }) },
        }),
      ),
    placeholderData: keepPreviousData,
  });

/** Reads the refused request of this id; null where there is none. */
export const refusedRequestQuery = (rid: string) =>
  queryOptions({
    queryKey: ['incidents', 'refused', rid],
    queryFn: async () => {
      const { data } = await dataOf(
        client.GET('/admin-api/refused-requests', { params: { query: { rid } } }),
      );
      return data[0] ?? null;
    },
  });

/** Shows administrators what the upstreams of a request answered in place of an answer. */
export const upstreamErrorsQuery = (rid: string) =>
  queryOptions({
    queryKey: ['incidents', 'errors', rid],
    queryFn: () => dataOf(client.GET('/admin-api/upstream-errors', { params: { query: { rid } } })),
  });

export type RunningRequest = Shape<'RunningRequest'>;

/** Reads requests that run now. The nodes are asked once a second, while the list is on screen. */
export const runningQuery = (userId: number | undefined) =>
  queryOptions({
    queryKey: ['incidents', 'running', userId],
    queryFn: () =>
      dataOf(
        client.GET('/admin-api/running-requests', {
          params: { query: present({ user_id: userId }) },
        }),
      ),
    refetchInterval: RUNNING_MS,
    refetchIntervalInBackground: false,
  });

export const endRequest = (rid: string, reason: string) =>
  dataOf(
    client.POST('/admin-api/running-requests/{rid}/end', {
      params: { path: { rid } },
      body: { reason },
    }),
  );
