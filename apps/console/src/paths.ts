import { buildSearch, type Search } from './search.ts';

/** Holds every address of the console, below its base. Pages and links take theirs from here. */
export const paths = {
  login: (search: { next?: string } = {}) => `/login${buildSearch(search)}`,
  register: () => '/register',
  home: () => '/',
  market: (search: Search = {}) => `/market${buildSearch(search)}`,
  model: (id: number) => `/models/${id}`,
  keys: (search: Search = {}) => `/keys${buildSearch(search)}`,
  key: (id: number) => `/keys/${id}`,
  usage: (search: Search = {}) => `/usage${buildSearch(search)}`,
  request: (rid: string) => `/usage/${encodeURIComponent(rid)}`,
  wallet: (search: Search = {}) => `/wallet${buildSearch(search)}`,
  playground: (search: Search = {}) => `/playground${buildSearch(search)}`,
  settings: () => '/settings',
  admin: () => '/admin',
  adminUsage: (search: Search = {}) => `/admin/usage${buildSearch(search)}`,
  adminRequest: (rid: string) => `/admin/usage/${encodeURIComponent(rid)}`,
  adminUsers: (search: Search = {}) => `/admin/users${buildSearch(search)}`,
  adminUser: (id: number) => `/admin/users/${id}`,
  adminKey: (id: number) => `/admin/keys/${id}`,
  adminModels: (search: Search = {}) => `/admin/models${buildSearch(search)}`,
  adminModel: (id: number) => `/admin/models/${id}`,
  adminUpstreams: (search: Search = {}) => `/admin/upstreams${buildSearch(search)}`,
  adminUpstream: (id: number) => `/admin/upstreams/${id}`,
  adminRouting: (search: Search = {}) => `/admin/routing${buildSearch(search)}`,
  adminNodes: () => '/admin/nodes',
  adminNode: (name: string) => `/admin/nodes/${encodeURIComponent(name)}`,
  adminSnapshots: () => '/admin/snapshots',
  adminSnapshot: (version: number) => `/admin/snapshots/${version}`,
  adminAlerts: () => '/admin/alerts',
  adminActivity: () => '/admin/activity',
  adminBooks: () => '/admin/books',
} as const;

/** The page of what an alert or an entry of the activity log is about; that of its account where it has none of its own. Returns none where it is deleted. */
export function pathOfRecord({
  kind,
  id,
  name,
  userId,
  isGone,
}: {
  kind: string;
  id: string | null | undefined;
  name: string | null;
  userId: number | null;
  isGone: boolean;
}): string | undefined {
  if (name === null || isGone) return undefined;
  switch (kind) {
    case 'model':
      return paths.adminModel(Number(id));
    case 'upstream':
      return paths.adminUpstream(Number(id));
    case 'node':
      return paths.adminNode(name);
    case 'key':
      return paths.adminKey(Number(id));
    case 'route':
      return paths.adminRouting();
    default:
      return userId === null ? undefined : paths.adminUser(userId);
  }
}

/** Is the address of the console itself, such as `https://gateway.example.com/tollgate/`. index.html names it when it is served. */
export const BASE = new URL('.', document.baseURI);
/** Is the path below which the console is served, without its last slash: '' or '/tollgate'. */
export const BASE_PATH = BASE.pathname.replace(/\/$/, '');
/** Holds what clients of the gateway are given: the origin and prefix they put before /v1. */
export const GATEWAY = `${BASE.origin}${BASE_PATH}`;
