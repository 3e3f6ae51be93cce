import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { ADMIN_PAGE_SIZE } from './admin.ts';
import { client, dataOf, type Shape } from './client.ts';
import type { LimitName } from './tables.ts';

export type User = Shape<'User'>;
/** Describes an account with what it has and uses. */
export type ListedUser = Shape<'ListedUser'>;

const USER_SORTS = ['username', 'created_at', 'balance', 'spend_30d', 'last_used_at'] as const;
export type UserOrder = (typeof USER_SORTS)[number] | `-${(typeof USER_SORTS)[number]}`;
export const USER_ORDERS: readonly UserOrder[] = USER_SORTS.flatMap((name) => [
  name,
  `-${name}` as const,
]);

export const usersQuery = (query: {
  page?: number;
  q?: string;
  status?: User['status'];
  sort?: UserOrder;
}) =>
  queryOptions({
    queryKey: ['users', query],
    queryFn: () =>
      dataOf(
        client.GET('/admin-api/users', {
          params: { query: { sort: '-created_at', ...query, page_size: ADMIN_PAGE_SIZE } },
        }),
      ),
    placeholderData: keepPreviousData,
  });

export const userQuery = (id: number) =>
  queryOptions({
    queryKey: ['users', id],
    queryFn: () => dataOf(client.GET('/admin-api/users/{id}', { params: { path: { id } } })),
  });

export function moveUser(id: number, move: 'approve' | 'reject' | 'freeze' | 'unfreeze') {
  return dataOf(client.POST(`/admin-api/users/{id}/${move}`, { params: { path: { id } } }));
}

export function deleteUser(id: number, isForfeit: boolean) {
  const query = isForfeit ? ({ forfeit: 'true' } as const) : {};
  return dataOf(client.DELETE('/admin-api/users/{id}', { params: { path: { id }, query } }));
}

export const erasureQuery = (id: number) =>
  queryOptions({
    queryKey: ['users', id, 'erasure'],
    queryFn: () =>
      dataOf(client.GET('/admin-api/users/{id}/erasure', { params: { path: { id } } })),
  });

export function eraseUser({ id, username }: Pick<User, 'id' | 'username'>) {
  return dataOf(
    client.POST('/admin-api/users/{id}/erase', { params: { path: { id } }, body: { username } }),
  );
}

export function setRole(id: number, role: User['role']) {
  return dataOf(client.PUT('/admin-api/users/{id}', { params: { path: { id } }, body: { role } }));
}

/** Sets the ceilings; null means the installation's. */
export function setAccountCeilings(id: number, body: Pick<User, `${LimitName}_ceiling` | 'rates'>) {
  return dataOf(client.PUT('/admin-api/users/{id}', { params: { path: { id } }, body }));
}

/** Creates an account without a registration; answers a one-time password. */
export function createUser(body: { username: string; role: User['role'] }) {
  return dataOf(client.POST('/admin-api/users', { body }));
}

/** Ends every session; answers a one-time password. */
export function resetPassword(id: number) {
  return dataOf(client.POST('/admin-api/users/{id}/reset-password', { params: { path: { id } } }));
}

interface WalletMovement {
  user_id: number;
  amount: string;
  note: string;
  idempotencyKey: string;
}

/** `amount` below zero takes money out. */
export function adjustWallet({ idempotencyKey, ...body }: WalletMovement) {
  return dataOf(
    client.POST('/admin-api/wallet/adjust', {
      params: { header: { 'Idempotency-Key': idempotencyKey } },
      body,
    }),
  );
}

export type PayOutTo = 'hand' | 'provider';

/** By hand it books what was paid out elsewhere; the provider pays back what came in there. */
export function withdrawFromWallet({ idempotencyKey, ...body }: WalletMovement & { to: PayOutTo }) {
  return dataOf(
    client.POST('/admin-api/wallet/withdraw', {
      params: { header: { 'Idempotency-Key': idempotencyKey } },
      body,
    }),
  );
}

export function rechargeUser({ idempotencyKey, ...body }: WalletMovement) {
  return dataOf(
    client.POST('/admin-api/wallet/admin-recharge', {
      params: { header: { 'Idempotency-Key': idempotencyKey } },
      body,
    }),
  );
}
