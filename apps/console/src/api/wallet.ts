import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { client, dataOf, type Shape } from './client.ts';

export type WalletEntry = Shape<'WalletEntry'>;
export type Payment = Shape<'PaymentEntry'>;
export type EntryKind = WalletEntry['kind'];
export const ENTRIES_PAGE_SIZE = 50;
export const ENTRY_SORTS = ['-created_at', 'created_at', 'amount', '-amount'] as const;

export const walletQuery = (userId: number) =>
  queryOptions({
    queryKey: ['wallet', userId],
    queryFn: () =>
      dataOf(client.GET('/admin-api/wallet', { params: { query: { user_id: userId } } })),
  });

export const entriesQuery = (query: {
  user_id: number;
  page?: number;
  kind?: EntryKind;
  q?: string;
  sort?: (typeof ENTRY_SORTS)[number];
  from?: string;
  to?: string;
}) =>
  queryOptions({
    queryKey: ['wallet', 'entries', query],
    queryFn: () =>
      dataOf(
        client.GET('/admin-api/wallet/logs', {
          params: { query: { ...query, page_size: ENTRIES_PAGE_SIZE } },
        }),
      ),
    placeholderData: keepPreviousData,
  });

export const paymentsQuery = (query: { user_id: number; page?: number }) =>
  queryOptions({
    queryKey: ['wallet', 'payments', query],
    queryFn: () =>
      dataOf(
        client.GET('/admin-api/wallet/payments', {
          params: { query: { ...query, page_size: ENTRIES_PAGE_SIZE } },
        }),
      ),
    placeholderData: keepPreviousData,
  });

export type Payout = Shape<'Payout'>;

/** Returns what the payment provider pays back. */
export const payoutsQuery = (userId: number) =>
  queryOptions({
    queryKey: ['wallet', 'payouts', userId],
    queryFn: () =>
      dataOf(
        client.GET('/admin-api/wallet/payouts', {
          params: { query: { user_id: userId, page_size: ENTRIES_PAGE_SIZE } },
        }),
      ),
  });

/** Recharges through the payment provider: it is paid at once, or by following the answer's `checkout_url`. */
export function recharge({
  userId,
  amount,
  idempotencyKey,
}: {
  userId: number;
  amount: string;
  idempotencyKey: string;
}) {
  return dataOf(
    client.POST('/admin-api/wallet/recharge', {
      params: { header: { 'Idempotency-Key': idempotencyKey } },
      body: { user_id: userId, amount },
    }),
  );
}
