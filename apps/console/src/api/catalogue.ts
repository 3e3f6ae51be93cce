import { queryOptions } from '@tanstack/react-query';
import { client, dataOf, type Shape } from './client.ts';
import type { Weights } from './tables.ts';
import { readWholeList } from './whole-list.ts';

export type Model = Shape<'Model'>;

export type Price = Shape<'Price'>;

export const catalogueQuery = queryOptions({
  queryKey: ['catalogue'],
  queryFn: () =>
    readWholeList((paging) =>
      dataOf(client.GET('/admin-api/models', { params: { query: { ...paging, sort: 'name' } } })),
    ),
});

export const modelQuery = (id: number) =>
  queryOptions({
    queryKey: ['catalogue', id],
    queryFn: () => dataOf(client.GET('/admin-api/models/{id}', { params: { path: { id } } })),
  });

export interface ModelSettings {
  name: string;
  display_name?: string;
  kind?: Model['kind'];
  owned_by?: string;
  context_window?: number | null;
  max_output_tokens?: number | null;
  failover?: Model['failover'];
  aliases?: string[];
  description?: string;
  default_output_tokens?: number | null;
  unbounded_input_tokens?: number | null;
  reads_more_than_sent?: boolean;
  caches_prompts?: boolean;
}

export interface PriceSettings extends Weights {
  price_per_million: string;
  /** Holds the tiers by threshold, ascending. */
  tiers: PriceTier[];
  free?: boolean;
}
export type PriceTier = Price['tiers'][number];

export function createModel(
  body: ModelSettings & { price?: PriceSettings; is_on_shelf?: boolean },
) {
  return dataOf(client.POST('/admin-api/models', { body }));
}

export function updateModel(id: number, body: Partial<ModelSettings>) {
  return dataOf(client.PUT('/admin-api/models/{id}', { params: { path: { id } }, body }));
}

export function shelve(id: number, isOnShelf: boolean) {
  const params = { params: { path: { id } } };
  return isOnShelf
    ? dataOf(client.POST('/admin-api/models/{id}/enable', params))
    : dataOf(client.POST('/admin-api/models/{id}/disable', params));
}

export function deleteModel(id: number, isRefund: boolean) {
  const query = isRefund ? ({ refund: 'true' } as const) : {};
  return dataOf(client.DELETE('/admin-api/models/{id}', { params: { path: { id }, query } }));
}

/** Reads the price in force of every model, with its weights. */
export const pricesInForceQuery = queryOptions({
  queryKey: ['prices', 'in-force'],
  queryFn: () =>
    readWholeList((paging) =>
      dataOf(
        client.GET('/admin-api/models/pricing', {
          params: { query: { ...paging, in_force: 'true', sort: 'model_id' } },
        }),
      ),
    ),
});

/** Reads the price in force by the server's clock, null when there is none. Each form asks again, because it is filled from it. */
export const priceInForceQuery = (modelId: number) =>
  queryOptions({
    queryKey: ['price-in-force', modelId],
    queryFn: async () => {
      const { data } = await dataOf(
        client.GET('/admin-api/models/pricing', {
          params: { query: { model_id: modelId, in_force: 'true' } },
        }),
      );
      return data[0] ?? null;
    },
    staleTime: 0,
    gcTime: 0,
  });

export function setPrice(
  body: PriceSettings & {
    model_id: number;
    multipliers: Readonly<Record<string, string>>;
    /** Names the version that the form was filled from; null means that the model had none. The server refuses the change when another version is in force by now. */
    replaces: number | null;
    effective_at?: string;
  },
  idempotencyKey?: string,
) {
  return dataOf(
    client.POST('/admin-api/models/pricing', {
      body,
      ...(idempotencyKey && { params: { header: { 'Idempotency-Key': idempotencyKey } } }),
    }),
  );
}

/** Reads an example request of 10,000 input and 1,000 output tokens at the price in force and at another one. */
export const priceChangeQuery = (modelId: number, price: PriceSettings) =>
  queryOptions({
    queryKey: ['price-change', modelId, price],
    queryFn: () => {
      const { free: _, tiers: __, ...settings } = price;
      const weights = Object.fromEntries(
        Object.entries(settings).filter(([, value]) => value !== null),
      );
      return dataOf(
        client.GET('/admin-api/previews/price-change', {
          params: {
            query: { model_id: modelId, input_tokens: 10_000, output_tokens: 1_000, ...weights },
          },
        }),
      );
    },
    retry: false,
  });
