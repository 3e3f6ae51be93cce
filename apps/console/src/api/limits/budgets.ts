import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import type { paths } from '@tollgate/admin-client';
import { client, dataOf, type Shape } from '../client.ts';

export type Budget = Shape<'Budget'>;
export type BudgetUsage = Shape<'BudgetUsage'>;
export const BUDGETS_PAGE_SIZE = 50;

export const BUDGET_UNITS = ['charged_tokens', 'tokens', 'money', 'requests'] as const;
export const BUDGET_PERIODS = ['day', 'week', 'month', 'year', 'rolling', 'none'] as const;
/** Names what a budget counts: all requests together, each of these by itself, or what auto-recharge of an account buys. */
export const BUDGET_SCOPES = ['all', 'sessions', 'end_users', 'purchases'] as const;
export type BudgetScope = (typeof BUDGET_SCOPES)[number];
export const BUDGET_ACTIONS = ['refuse', 'fallback', 'notify'] as const;
export const PURCHASE_ACTIONS = ['refuse', 'notify'] as const;

/** Asks for the budgets of an account and of all its keys, or for those of one key. */
export const budgetsQuery = (query: { user_id: number; key_id?: number; page: number }) =>
  queryOptions({
    queryKey: ['budgets', query],
    queryFn: () =>
      dataOf(
        client.GET('/admin-api/budgets', {
          params: { query: { ...query, page_size: BUDGETS_PAGE_SIZE } },
        }),
      ),
    placeholderData: keepPreviousData,
  });

/** Asks what is used and held of these budgets, by their ids. */
export const budgetUsageQuery = (ids: readonly number[]) =>
  queryOptions({
    queryKey: ['budgets', 'usage', ids],
    queryFn: async () => {
      const { data } = await dataOf(
        client.GET('/admin-api/budgets/usage', { params: { query: { ids: ids.join(',') } } }),
      );
      return new Map(data.map((usage) => [usage.budget_id, usage] as const));
    },
    placeholderData: keepPreviousData,
  });

export const budgetEntriesQuery = (id: number) =>
  queryOptions({
    queryKey: ['budgets', id, 'entries'],
    queryFn: async () => {
      const { data } = await dataOf(
        client.GET('/admin-api/budgets/{id}/entries', { params: { path: { id } } }),
      );
      return data;
    },
  });

type BodyOf<Path extends keyof paths, Method extends 'post' | 'put'> = paths[Path] extends {
  [M in Method]: { requestBody: { content: { 'application/json': infer Body } } };
}
  ? Body
  : never;
type NewBudget = BodyOf<'/admin-api/budgets', 'post'>;
/** `window_minutes` is of a rolling budget alone. */
export type CreateBudget = Required<Omit<NewBudget, 'window_minutes'>> &
  Pick<NewBudget, 'window_minutes'>;
/** Returns the scope as the interface takes it. */
export function scopeOf(
  owner: { key_id: number } | { user_id: number },
  scope: BudgetScope,
): CreateBudget['scope'] {
  switch (scope) {
    case 'all':
    case 'purchases':
      return owner;
    case 'sessions':
      return { sessions_of: owner };
    case 'end_users':
      return { end_users_of: owner };
  }
}

export type UpdateBudget = Required<BodyOf<'/admin-api/budgets/{id}', 'put'>>;

export function createBudget(body: CreateBudget, idempotencyKey: string) {
  return dataOf(
    client.POST('/admin-api/budgets', {
      params: { header: { 'Idempotency-Key': idempotencyKey } },
      body,
    }),
  );
}

export function updateBudget(id: number, body: UpdateBudget) {
  return dataOf(client.PUT('/admin-api/budgets/{id}', { params: { path: { id } }, body }));
}

export function grantBudget(
  id: number,
  { idempotencyKey, ...body }: { amount: string; reason: string; idempotencyKey: string },
) {
  return dataOf(
    client.POST('/admin-api/budgets/{id}/grant', {
      params: { path: { id }, header: { 'Idempotency-Key': idempotencyKey } },
      body,
    }),
  );
}

export function resetBudget(
  id: number,
  { idempotencyKey, ...body }: { reason: string; idempotencyKey: string },
) {
  return dataOf(
    client.POST('/admin-api/budgets/{id}/reset', {
      params: { path: { id }, header: { 'Idempotency-Key': idempotencyKey } },
      body,
    }),
  );
}

export function deleteBudget(id: number) {
  return dataOf(client.DELETE('/admin-api/budgets/{id}', { params: { path: { id } } }));
}
