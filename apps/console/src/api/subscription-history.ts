import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { client, dataOf, type Shape } from './client.ts';

export type TokenLot = Shape<'TokenLot'>;
export type TokenEntry = Shape<'TokenEntry'>;
export type TokenEntryKind = TokenEntry['kind'];

const HISTORY_PAGE_SIZE = 25;

/** Reads purchases of one subscription, newest first. */
export const lotsQuery = (subscriptionId: number, cursor?: string) =>
  queryOptions({
    queryKey: ['subscriptions', 'lots', subscriptionId, cursor],
    queryFn: () =>
      dataOf(
        client.GET('/admin-api/subscriptions/{id}/lots', {
          params: {
            path: { id: subscriptionId },
            query: { page_size: HISTORY_PAGE_SIZE, ...(cursor !== undefined && { cursor }) },
          },
        }),
      ),
    placeholderData: keepPreviousData,
  });

export const tokenEntriesQuery = (
  subscriptionId: number,
  query: { kind?: TokenEntryKind; cursor?: string },
) =>
  queryOptions({
    queryKey: ['subscriptions', 'ledger', subscriptionId, query],
    queryFn: () =>
      dataOf(
        client.GET('/admin-api/subscriptions/{id}/ledger', {
          params: {
            path: { id: subscriptionId },
            query: { page_size: HISTORY_PAGE_SIZE, ...query },
          },
        }),
      ),
    placeholderData: keepPreviousData,
  });
