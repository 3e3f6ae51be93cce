import type { PageModule } from './page-module.ts';

export interface PageEntry {
  path: string;
  load: () => Promise<PageModule>;
}

/** Lists the pages without an account, one line a page. */
export const openPages: readonly PageEntry[] = [
  { path: '/login', load: () => import('./features/access/login-page.tsx') },
  { path: '/register', load: () => import('./features/access/register-page.tsx') },
];

/** Lists the pages of every account. */
export const userPages: readonly PageEntry[] = [
  { path: '/', load: () => import('./features/overview/page.tsx') },
  { path: '/market', load: () => import('./features/market/page.tsx') },
  { path: '/models/$id', load: () => import('./features/subscription/page.tsx') },
  { path: '/wallet', load: () => import('./features/wallet/page.tsx') },
  { path: '/keys', load: () => import('./features/keys/page.tsx') },
  { path: '/keys/$id', load: () => import('./features/keys/key-page.tsx') },
  { path: '/playground', load: () => import('./features/playground/page.tsx') },
  { path: '/settings', load: () => import('./features/settings/page.tsx') },
  { path: '/usage', load: () => import('./features/usage/page.tsx') },
  { path: '/usage/$rid', load: () => import('./features/usage/request-page.tsx') },
];

/** Lists the pages of administrators. */
export const adminPages: readonly PageEntry[] = [
  { path: '/admin', load: () => import('./features/admin-overview/page.tsx') },
  { path: '/admin/usage', load: () => import('./features/admin-usage/page.tsx') },
  { path: '/admin/usage/$rid', load: () => import('./features/usage/request-page.tsx') },
  { path: '/admin/users', load: () => import('./features/admin-users/page.tsx') },
  { path: '/admin/users/$id', load: () => import('./features/admin-users/user-page.tsx') },
  { path: '/admin/keys/$id', load: () => import('./features/keys/key-page.tsx') },
  { path: '/admin/models', load: () => import('./features/admin-models/page.tsx') },
  { path: '/admin/models/$id', load: () => import('./features/admin-models/model-page.tsx') },
  { path: '/admin/upstreams', load: () => import('./features/admin-upstreams/page.tsx') },
  {
    path: '/admin/upstreams/$id',
    load: () => import('./features/admin-upstreams/upstream-page.tsx'),
  },
  { path: '/admin/routing', load: () => import('./features/admin-routing/page.tsx') },
  { path: '/admin/nodes', load: () => import('./features/admin-nodes/page.tsx') },
  { path: '/admin/nodes/$name', load: () => import('./features/admin-nodes/node-page.tsx') },
  { path: '/admin/snapshots', load: () => import('./features/admin-snapshots/page.tsx') },
  {
    path: '/admin/snapshots/$version',
    load: () => import('./features/admin-snapshots/snapshot-page.tsx'),
  },
  { path: '/admin/alerts', load: () => import('./features/admin-alerts/page.tsx') },
  { path: '/admin/activity', load: () => import('./features/admin-activity/page.tsx') },
  { path: '/admin/books', load: () => import('./features/admin-books/page.tsx') },
];
