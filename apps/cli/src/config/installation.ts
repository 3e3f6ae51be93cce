import { answerOf, type AdminClient, type components } from '@tollgate/admin-client';
import { inParallel } from './in-parallel.ts';

type Schemas = components['schemas'];

/** Holds the objects of an installation as the API returns them now. */
export interface Installation {
  upstreams: readonly Schemas['Upstream'][];
  models: readonly Schemas['Model'][];
  /** Holds the prices in force, by model id. */
  prices: ReadonlyMap<number, Schemas['Price']>;
  routes: readonly Schemas['Route'][];
  ceilings: Schemas['Ceilings'];
}

interface ListPage<T> {
  data: T[];
  total: number;
}

const PAGE_SIZE = 100;

export async function readInstallation(client: AdminClient): Promise<Installation> {
  const [upstreams, models, prices, routes, ceilings] = await Promise.all([
    readAll((query) => client.GET('/admin-api/upstreams', { params: { query } })),
    readAll((query) => client.GET('/admin-api/models', { params: { query } })),
    readAll((query) =>
      client.GET('/admin-api/models/pricing', {
        params: { query: { ...query, sort: 'id', in_force: 'true' } },
      }),
    ),
    readAll((query) => client.GET('/admin-api/routing', { params: { query } })),
    answerOf(client.GET('/admin-api/admin/ceilings')),
  ]);
  return {
    upstreams,
    models,
    prices: new Map(prices.map((price) => [price.model_id, price])),
    routes,
    ceilings,
  };
}

/** Returns the number of open subscriptions of each model. */
export async function readSubscriptions(
  client: AdminClient,
  modelIds: readonly number[],
): Promise<ReadonlyMap<number, number>> {
  const counts = new Map<number, number>();
  await inParallel(modelIds, async (modelId) => {
    const query = { model_id: modelId };
    const { subscriptions } = await answerOf(
      client.GET('/admin-api/previews/model-removal', { params: { query } }),
    );
    counts.set(modelId, subscriptions);
  });
  return counts;
}

async function readAll<T>(
  read: (query: {
    page: number;
    page_size: number;
  }) => Promise<{ data?: ListPage<T>; error?: unknown; response: Response }>,
): Promise<T[]> {
  const first = await answerOf(read({ page: 1, page_size: PAGE_SIZE }));
  const pages = Array.from({ length: Math.ceil(first.total / PAGE_SIZE) - 1 }, (_, index) =>
    answerOf(read({ page: index + 2, page_size: PAGE_SIZE })),
  );
  return [first, ...(await Promise.all(pages))].flatMap(({ data }) => data);
}
