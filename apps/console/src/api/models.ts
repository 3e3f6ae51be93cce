import { queryOptions } from '@tanstack/react-query';
import { client, dataOf, type Shape } from './client.ts';
import { readWholeList } from './whole-list.ts';

export type MarketModel = Shape<'MarketModel'>;
export type MyModel = Shape<'MyModel'>;
export type PriceTag = Shape<'PriceTag'>;

export const marketQuery = (query: { q?: string; kind?: 'chat' | 'embedding' }) =>
  queryOptions({
    queryKey: ['market', query],
    queryFn: () =>
      readWholeList((paging) =>
        dataOf(
          client.GET('/admin-api/models/market', {
            params: { query: { ...query, ...paging, sort: 'name' } },
          }),
        ),
      ),
  });

export const subscriptionsQuery = (userId: number) =>
  queryOptions({
    queryKey: ['subscriptions', userId],
    queryFn: async () => {
      const { data } = await readWholeList((paging) =>
        dataOf(
          client.GET('/admin-api/models/my', { params: { query: { user_id: userId, ...paging } } }),
        ),
      );
      return data;
    },
  });

export const pricesQuery = (modelId: number) =>
  queryOptions({
    queryKey: ['prices', modelId],
    queryFn: () =>
      dataOf(
        client.GET('/admin-api/models/pricing', {
          params: { query: { model_id: modelId, sort: '-effective_at' } },
        }),
      ),
  });

export interface PurchaseOrder {
  userId: number;
  modelId: number;
  tokens: number;
  idempotencyKey: string;
}

function purchaseRequest({ userId, modelId, tokens, idempotencyKey }: PurchaseOrder) {
  return {
    params: { header: { 'Idempotency-Key': idempotencyKey } },
    body: { user_id: userId, model_id: modelId, tokens },
  };
}

export function subscribe(order: PurchaseOrder) {
  return dataOf(client.POST('/admin-api/models/subscribe', purchaseRequest(order)));
}

export function renew(order: PurchaseOrder) {
  return dataOf(client.POST('/admin-api/models/renew', purchaseRequest(order)));
}

export function unsubscribe({ userId, modelId, idempotencyKey }: Omit<PurchaseOrder, 'tokens'>) {
  return dataOf(
    client.POST('/admin-api/models/unsubscribe', {
      params: { header: { 'Idempotency-Key': idempotencyKey } },
      body: { user_id: userId, model_id: modelId },
    }),
  );
}

/** Sets auto-recharge; both null switch it off. */
export function setAutoRecharge(body: {
  user_id: number;
  model_id: number;
  threshold: number | null;
  amount: number | null;
}) {
  return dataOf(client.POST('/admin-api/models/set-auto-recharge', { body }));
}
