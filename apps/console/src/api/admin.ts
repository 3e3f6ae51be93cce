import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { client, dataOf, type Shape } from './client.ts';

export type User = Shape<'User'>;
export type Model = Shape<'Model'>;
export type Price = Shape<'Price'>;
export type Upstream = Shape<'Upstream'>;
export type Route = Shape<'Route'>;
export type ProxyNode = Shape<'ProxyNode'>;
export type Snapshot = Shape<'Snapshot'>;
export type SnapshotKindDiff = Shape<'SnapshotKindDiff'>;
export type Alert = Shape<'Alert'>;
export type ActivityEntry = Shape<'ActivityEntry'>;
export type Books = Shape<'Books'>;
export type SyncedNode = Shape<'SyncResult'>['nodes'][number];
export type ConnectionTest = Shape<'ConnectionTest'>;
export type CallerProtocol = Shape<'RoutingSimulation'>['protocol'];

export const ADMIN_PAGE_SIZE = 50;
/** Enough for every model, upstream and route that a person reads on one page. */
const WHOLE_LIST = 100;

export const dashboardQuery = queryOptions({
  queryKey: ['dashboard'],
  queryFn: () => dataOf(client.GET('/admin-api/admin/dashboard')),
});

export const installationStepsQuery = queryOptions({
  queryKey: ['dashboard', 'first-steps'],
  queryFn: () => dataOf(client.GET('/admin-api/admin/first-steps')),
});

export const usersQuery = (query: {
  page?: number;
  q?: string;
  status?: Exclude<User['status'], 'deleted'>;
}) =>
  queryOptions({
    queryKey: ['users', query],
    queryFn: () =>
      dataOf(
        client.GET('/admin-api/users', {
          params: { query: { ...query, page_size: ADMIN_PAGE_SIZE, sort: '-created_at' } },
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

export function setRole(id: number, role: User['role']) {
  return dataOf(client.PUT('/admin-api/users/{id}', { params: { path: { id } }, body: { role } }));
}

export function rechargeUser({
  idempotencyKey,
  ...body
}: {
  user_id: number;
  amount: string;
  note: string;
  idempotencyKey: string;
}) {
  return dataOf(
    client.POST('/admin-api/wallet/admin-recharge', {
      params: { header: { 'Idempotency-Key': idempotencyKey } },
      body,
    }),
  );
}

export const catalogueQuery = (query: {
  page?: number;
  q?: string;
  is_on_shelf?: 'true' | 'false';
}) =>
  queryOptions({
    queryKey: ['catalogue', query],
    queryFn: () =>
      dataOf(
        client.GET('/admin-api/models', {
          params: { query: { ...query, page_size: WHOLE_LIST, sort: 'name' } },
        }),
      ),
    placeholderData: keepPreviousData,
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
}

export interface PriceSettings {
  price_per_million: string;
  weight_input: string;
  weight_output: string;
  weight_cache_read: string;
  weight_cache_write: string;
  free?: boolean;
}

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

export function setPrice(body: PriceSettings & { model_id: number; effective_at?: string }) {
  return dataOf(client.POST('/admin-api/models/pricing', { body }));
}

/** An example request of 10,000 input and 1,000 output tokens at the price in force and at another one. */
export const priceChangeQuery = (modelId: number, price: PriceSettings) =>
  queryOptions({
    queryKey: ['price-change', modelId, price],
    queryFn: () => {
      const { free: _, ...weights } = price;
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

export const upstreamsQuery = queryOptions({
  queryKey: ['upstreams'],
  queryFn: () =>
    dataOf(
      client.GET('/admin-api/upstreams', {
        params: { query: { page_size: WHOLE_LIST, sort: 'name' } },
      }),
    ),
});

export const upstreamQuery = (id: number) =>
  queryOptions({
    queryKey: ['upstreams', id],
    queryFn: () => dataOf(client.GET('/admin-api/upstreams/{id}', { params: { path: { id } } })),
  });

export interface UpstreamSettings {
  name: string;
  protocol: Upstream['protocol'];
  base_url: string;
  /** Left out: the stored key is kept. */
  api_key?: string;
  enabled?: boolean;
}

export function createUpstream(body: UpstreamSettings) {
  return dataOf(client.POST('/admin-api/upstreams', { body }));
}

export function updateUpstream(id: number, body: Partial<UpstreamSettings>) {
  return dataOf(client.PUT('/admin-api/upstreams/{id}', { params: { path: { id } }, body }));
}

export function deleteUpstream(id: number) {
  return dataOf(client.DELETE('/admin-api/upstreams/{id}', { params: { path: { id } } }));
}

export function testUpstream(id: number, model: string) {
  return dataOf(
    client.POST('/admin-api/upstreams/{id}/test', {
      params: { path: { id } },
      body: model === '' ? {} : { model },
    }),
  );
}

export const routesQuery = queryOptions({
  queryKey: ['routes'],
  queryFn: () =>
    dataOf(
      client.GET('/admin-api/routing', {
        params: { query: { page_size: WHOLE_LIST, sort: 'priority' } },
      }),
    ),
});

export interface RouteSettings {
  model_id: number;
  upstream_id: number;
  upstream_model?: string;
  priority: number;
  weight: number;
  enabled?: boolean;
}

export function createRoute(body: RouteSettings) {
  return dataOf(client.POST('/admin-api/routing', { body }));
}

export function updateRoute(id: number, body: Partial<RouteSettings>) {
  return dataOf(client.PUT('/admin-api/routing/{id}', { params: { path: { id } }, body }));
}

export function deleteRoute(id: number) {
  return dataOf(client.DELETE('/admin-api/routing/{id}', { params: { path: { id } } }));
}

export const simulationQuery = (modelId: number, protocol: CallerProtocol) =>
  queryOptions({
    queryKey: ['routes', 'simulation', modelId, protocol],
    queryFn: () =>
      dataOf(
        client.GET('/admin-api/routing/simulation', {
          params: { query: { model_id: modelId, protocol } },
        }),
      ),
  });

export const nodesQuery = queryOptions({
  queryKey: ['nodes'],
  queryFn: () =>
    dataOf(
      client.GET('/admin-api/proxy-nodes', {
        params: { query: { page_size: WHOLE_LIST, sort: 'name' } },
      }),
    ),
});

export const nodeTablesQuery = (nodeId: number) =>
  queryOptions({
    queryKey: ['fleet', 'tables', nodeId],
    queryFn: () =>
      dataOf(client.GET('/admin-api/proxy/stats', { params: { query: { node_id: nodeId } } })),
  });

export function toggleNode(id: number, isEnabled: boolean) {
  return dataOf(
    client.POST('/admin-api/proxy-nodes/{id}/toggle', {
      params: { path: { id } },
      body: { enabled: isEnabled },
    }),
  );
}

export function setNodeStopped(id: number, isStopped: boolean) {
  const params = { params: { query: { node_id: id } } };
  return isStopped
    ? dataOf(client.POST('/admin-api/proxy/stop', params))
    : dataOf(client.POST('/admin-api/proxy/start', params));
}

export function deleteNode(id: number) {
  return dataOf(client.DELETE('/admin-api/proxy-nodes/{id}', { params: { path: { id } } }));
}

export function createNode(name: string) {
  return dataOf(client.POST('/admin-api/proxy-nodes', { body: { name } }));
}

/** Publishes without waiting: the nodes' acknowledgements are read from the list as they arrive. */
export function publish() {
  return dataOf(client.POST('/admin-api/proxy/sync-config'));
}

export const configCheckQuery = queryOptions({
  queryKey: ['fleet', 'config-check'],
  queryFn: () => dataOf(client.GET('/admin-api/proxy/config-check')),
});

export const snapshotsQuery = (page: number) =>
  queryOptions({
    queryKey: ['snapshots', page],
    queryFn: () =>
      dataOf(
        client.GET('/admin-api/snapshots', {
          params: { query: { page, page_size: ADMIN_PAGE_SIZE, sort: '-version' } },
        }),
      ),
    placeholderData: keepPreviousData,
  });

/** From the version before to this one. */
export const snapshotDiffQuery = (version: number) =>
  queryOptions({
    queryKey: ['snapshots', 'diff', version],
    queryFn: () =>
      dataOf(
        client.GET('/admin-api/snapshots/{id}/diff', {
          params: { path: { id: version - 1 }, query: { to: version } },
        }),
      ),
    retry: false,
  });

export function rollBack(version: number) {
  return dataOf(
    client.POST('/admin-api/snapshots/{id}/rollback', { params: { path: { id: version } } }),
  );
}

export function unpin() {
  return dataOf(client.POST('/admin-api/snapshots/unpin'));
}

export const alertsQuery = (query: { page?: number; status: 'open' | 'resolved' | 'all' }) =>
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

export const activityQuery = (query: {
  cursor?: string;
  action?: string;
  actor_user_id?: number;
}) =>
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
