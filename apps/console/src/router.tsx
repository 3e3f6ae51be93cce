import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
} from '@tanstack/react-router';
import { queryClient } from './api/query-client.ts';
import { meQuery } from './api/session.ts';
import { BASE_PATH, paths } from './paths.ts';
import { adminPages, openPages, userPages, type PageEntry } from './routes.ts';
import { buildSearch, parseSearch, type Search } from './search.ts';
import { PageFailure, PageNotFound } from './shell/page-states.tsx';
import { Shell } from './shell/shell.tsx';

const root = createRootRoute({ component: Outlet });

/** Pages behind the shell need an account; without one, signing in leads back to the same address. */
const shell = createRoute({
  getParentRoute: () => root,
  id: 'shell',
  component: Shell,
  beforeLoad: async ({ location }) => {
    const me = await queryClient.ensureQueryData(meQuery);
    if (me === null) throw redirect({ href: paths.login({ next: location.href }) });
  },
});

const admin = createRoute({
  getParentRoute: () => shell,
  id: 'admin',
  beforeLoad: async () => {
    const me = await queryClient.ensureQueryData(meQuery);
    if (me?.role !== 'admin') throw redirect({ href: paths.home() });
  },
});

/** An address without a page keeps the navigation around it. */
const elsewhere = createRoute({
  getParentRoute: () => shell,
  path: '$',
  component: PageNotFound,
});

/** A page is loaded when its link is pointed at; its data start loading then, too, and are not waited for: the page shows what it has. */
function routeOf(
  { path, load }: PageEntry,
  parent: () => typeof root | typeof shell | typeof admin,
) {
  return createRoute({
    getParentRoute: parent as () => typeof root,
    path,
    component: lazyRouteComponent(load, 'Page'),
    loader: async ({ params, location }) => {
      const { prefetch } = await load();
      const me = queryClient.getQueryData(meQuery.queryKey);
      if (!prefetch || !me) return;
      const search = parseSearch(location.searchStr);
      prefetch((query) => void queryClient.prefetchQuery(query), { params, search, me });
    },
  });
}

export function createConsoleRouter() {
  return createRouter({
    routeTree: root.addChildren([
      ...openPages.map((entry) => routeOf(entry, () => root)),
      shell.addChildren([
        ...userPages.map((entry) => routeOf(entry, () => shell)),
        admin.addChildren(adminPages.map((entry) => routeOf(entry, () => admin))),
        elsewhere,
      ]),
    ]),
    basepath: BASE_PATH === '' ? '/' : BASE_PATH,
    defaultPreload: 'intent',
    defaultPreloadDelay: 30,
    scrollRestoration: true,
    defaultErrorComponent: PageFailure,
    defaultNotFoundComponent: PageNotFound,
    // Every value of a search is text in the address; pages read it with a schema of their own.
    parseSearch,
    stringifySearch: (search) => buildSearch(search as Search),
  });
}
