import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { ADMIN_PAGE_SIZE } from './admin.ts';
import { client, dataOf, type Shape } from './client.ts';
import { readWholeList } from './whole-list.ts';

export type ProxyNode = Shape<'ProxyNode'>;

export type Snapshot = Shape<'Snapshot'>;

export type SnapshotKindDiff = Shape<'SnapshotKindDiff'>;

export const nodesQuery = queryOptions({
  queryKey: ['nodes'],
  queryFn: () =>
    readWholeList((paging) =>
      dataOf(
        client.GET('/admin-api/proxy-nodes', { params: { query: { ...paging, sort: 'name' } } }),
      ),
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

/** Waits for the acknowledgement of one node, or says that it did not come. */
export function syncNode(id: number) {
  return dataOf(
    client.POST('/admin-api/proxy-nodes/{id}/sync-config', { params: { path: { id } } }),
  );
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

export const snapshotQuery = (version: number) =>
  queryOptions({
    queryKey: ['snapshots', 'version', version],
    queryFn: () =>
      dataOf(client.GET('/admin-api/snapshots/{id}', { params: { path: { id: version } } })),
  });

/** Holds what turns one version into another. */
export const snapshotDiffQuery = (from: number, to: number) =>
  queryOptions({
    queryKey: ['snapshots', 'diff', from, to],
    queryFn: () =>
      dataOf(
        client.GET('/admin-api/snapshots/{id}/diff', {
          params: { path: { id: from }, query: { to } },
        }),
      ),
    retry: false,
    // Before the first version there is none to compare with.
    enabled: from >= 1,
  });

export function rollBack(version: number) {
  return dataOf(
    client.POST('/admin-api/snapshots/{id}/rollback', { params: { path: { id: version } } }),
  );
}

export function unpin() {
  return dataOf(client.POST('/admin-api/snapshots/unpin'));
}
