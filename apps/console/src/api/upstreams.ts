import { queryOptions } from '@tanstack/react-query';
import type { paths } from '@tollgate/admin-client';
import { client, dataOf, patientClient, type Shape } from './client.ts';
import { readWholeList } from './whole-list.ts';

export type Upstream = Shape<'Upstream'>;

export type Route = Shape<'Route'>;

export type ConnectionTest = Shape<'ConnectionTest'>;

export type CallerProtocol = Shape<'RoutingSimulation'>['protocol'];

export const upstreamsQuery = queryOptions({
  queryKey: ['upstreams'],
  queryFn: () =>
    readWholeList((paging) =>
      dataOf(
        client.GET('/admin-api/upstreams', { params: { query: { ...paging, sort: 'name' } } }),
      ),
    ),
});

export type UpstreamDetail = Shape<'UpstreamDetail'>;

export type Credential = UpstreamDetail['credentials'][number];

export const upstreamQuery = (id: number) =>
  queryOptions({
    queryKey: ['upstreams', id],
    queryFn: () => dataOf(client.GET('/admin-api/upstreams/{id}', { params: { path: { id } } })),
  });

export type UpstreamPreset = Shape<'UpstreamPreset'>;

/** Holds what is known of providers; it changes with releases only. */
export const presetsQuery = queryOptions({
  queryKey: ['upstreams', 'presets'],
  queryFn: () => dataOf(client.GET('/admin-api/upstreams/presets')),
  staleTime: Infinity,
});

type CreatedUpstream =
  paths['/admin-api/upstreams']['post']['requestBody']['content']['application/json'];

export interface UpstreamSettings {
  name: string;
  /** Fills in the omitted fields of a new upstream. */
  preset?: UpstreamPreset['name'];
  protocol?: Upstream['protocol'];
  base_url?: string;
  /** Keeps the stored key when it is omitted. */
  api_key?: string;
  /** Takes the place of `api_key` where the provider asks for more. */
  auth?: NonNullable<CreatedUpstream['auth']>;
  passes_file_ids?: boolean;
  /** May be omitted for a new upstream: its address decides then. */
  fields?: Upstream['fields'];
  enabled?: boolean;
  headers?: Upstream['headers'];
  connect_timeout_ms?: number;
  first_token_timeout_ms?: number;
  idle_timeout_ms?: number;
  total_timeout_ms?: number;
  max_concurrency?: number | null;
  /** Is null where what is known of the host decides. */
  stops_billing_on_close?: boolean | null;
  endpoints?: Upstream['endpoints'];
}

export function createUpstream(body: UpstreamSettings) {
  return dataOf(client.POST('/admin-api/upstreams', { body }));
}

export function updateUpstream(id: number, body: Partial<Omit<UpstreamSettings, 'preset'>>) {
  return dataOf(client.PUT('/admin-api/upstreams/{id}', { params: { path: { id } }, body }));
}

export function deleteUpstream(id: number) {
  return dataOf(client.DELETE('/admin-api/upstreams/{id}', { params: { path: { id } } }));
}

export interface CredentialSettings {
  name?: string;
  /** Left out: the stored one is kept. */
  api_key?: string;
  auth?: NonNullable<CreatedUpstream['auth']>;
  weight?: number;
  rpm?: number | null;
  tpm?: number | null;
  enabled?: boolean;
}

export function addCredential(id: number, body: CredentialSettings & { name: string }) {
  return dataOf(
    client.POST('/admin-api/upstreams/{id}/credentials', { params: { path: { id } }, body }),
  );
}

const ONE = '/admin-api/upstreams/{id}/credentials/{credential_id}';
const pathOf = ({
  upstream_id: id,
  id: credential_id,
}: Pick<Credential, 'upstream_id' | 'id'>) => ({
  params: { path: { id, credential_id } },
});

export function updateCredential(of: Credential, body: CredentialSettings) {
  return dataOf(client.PUT(ONE, { ...pathOf(of), body }));
}

export function deleteCredential(of: Credential) {
  return dataOf(client.DELETE(ONE, pathOf(of)));
}

/** Without `credential_id` the test uses the own credential, else the first further one that is enabled. */
export function testUpstream(id: number, model: string, credential_id?: number) {
  return dataOf(
    patientClient.POST('/admin-api/upstreams/{id}/test', {
      params: { path: { id } },
      body: {
        ...(model !== '' && { model }),
        ...(credential_id !== undefined && { credential_id }),
      },
    }),
  );
}

export const routesQuery = queryOptions({
  queryKey: ['routes'],
  queryFn: () =>
    readWholeList((paging) =>
      dataOf(
        client.GET('/admin-api/routing', { params: { query: { ...paging, sort: 'priority' } } }),
      ),
    ),
});

export type RoutingHealth = Shape<'RoutingHealth'>;
export type RouteTraffic = RoutingHealth['traffic'][number];
export type FailingUpstream = RoutingHealth['failing'][number];

/** Holds what each route carried in the last day, and what nodes leave alone now. */
export const routingHealthQuery = queryOptions({
  queryKey: ['routes', 'health'],
  queryFn: () => dataOf(client.GET('/admin-api/routing/health')),
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
