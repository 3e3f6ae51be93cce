import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { client, dataOf } from './client.ts';
import type { Budget } from './limits/budgets.ts';

/** Holds what a purchase comes to, as the server would book it now. */
export const purchasePreviewQuery = (query: {
  model_id: number;
  user_id: number;
  tokens?: number;
  amount?: string;
}) =>
  queryOptions({
    queryKey: ['wallet', 'purchase', query],
    queryFn: () => dataOf(client.GET('/admin-api/previews/purchase', { params: { query } })),
    placeholderData: keepPreviousData,
    retry: false,
  });

/** Holds what a request of so many tokens is charged at the present price. */
export const chargePreviewQuery = (query: {
  model_id: number;
  input_tokens: number;
  output_tokens: number;
}) =>
  queryOptions({
    queryKey: ['prices', 'charge', query],
    queryFn: () => dataOf(client.GET('/admin-api/previews/charge', { params: { query } })),
    placeholderData: keepPreviousData,
    retry: false,
  });

/** Says how far the requests of yesterday would have used up a budget. */
export const budgetPreviewQuery = (query: {
  user_id?: number;
  key_id?: number;
  unit: Budget['unit'];
  amount: string;
  models: string;
  period: Budget['period'];
  window_minutes?: number;
  time_zone: string;
}) =>
  queryOptions({
    queryKey: ['usage', 'budget-preview', query],
    queryFn: () => dataOf(client.GET('/admin-api/previews/budget', { params: { query } })),
    retry: false,
  });

/** Returns what unsubscribing would give back now. */
export const refundPreviewQuery = (query: { model_id: number; user_id: number }) =>
  queryOptions({
    queryKey: ['subscriptions', 'refund', query],
    queryFn: () => dataOf(client.GET('/admin-api/previews/refund', { params: { query } })),
    staleTime: 0,
  });

/** Returns what deleting a model would give back to its subscribers. */
export const modelRemovalPreviewQuery = (modelId: number) =>
  queryOptions({
    queryKey: ['subscriptions', 'model-removal', modelId],
    queryFn: () =>
      dataOf(
        client.GET('/admin-api/previews/model-removal', {
          params: { query: { model_id: modelId } },
        }),
      ),
    staleTime: 0,
  });

/** Reads how long the tokens of each subscription last. */
export const burnRateQuery = (userId: number) =>
  queryOptions({
    queryKey: ['subscriptions', 'burn-rate', userId],
    queryFn: async () => {
      const { data } = await dataOf(
        client.GET('/admin-api/usage/burn-rate', { params: { query: { user_id: userId } } }),
      );
      return data;
    },
  });
