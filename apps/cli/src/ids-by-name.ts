import { answerOf, type AdminClient } from '@tollgate/admin-client';
import { UsageError } from './failure.ts';

interface Named {
  id: number;
  name: string;
}

const PAGE = { page_size: 100 } as const;
/** Lists the records that a name identifies, by the feature of a command and by the field that needs the id. */
const LISTS: Readonly<
  Record<string, (client: AdminClient, q: string, page: number) => Promise<ListPage>>
> = {
  nodes: (client, q, page) =>
    answerOf(client.GET('/admin-api/proxy-nodes', { params: { query: { q, page, ...PAGE } } })),
  models: (client, q, page) =>
    answerOf(client.GET('/admin-api/models', { params: { query: { q, page, ...PAGE } } })),
  upstreams: (client, q, page) =>
    answerOf(client.GET('/admin-api/upstreams', { params: { query: { q, page, ...PAGE } } })),
  users: async (client, q, page) => {
    const { data, has_more } = await answerOf(
      client.GET('/admin-api/users', { params: { query: { q, page, ...PAGE } } }),
    );
    return { data: data.map(({ id, username }) => ({ id, name: username })), has_more };
  },
};
const FIELDS: Readonly<Record<string, string>> = {
  node_id: 'nodes',
  model_id: 'models',
  upstream_id: 'upstreams',
  user_id: 'users',
};

interface ListPage {
  data: readonly Named[];
  has_more: boolean;
}

const isId = (word: string): boolean => /^\d{1,15}$/.test(word);

/** Returns whether a name may replace `<id>` in this feature. */
export function takesName(group: string): boolean {
  return group in LISTS;
}

/** Returns the id for a word of the command line, which is the word itself when it is an id. `kind` is a feature, or a field that needs an id. */
export async function idOf(client: AdminClient, kind: string, word: string): Promise<string> {
  const group = FIELDS[kind] ?? kind;
  const read = LISTS[group];
  if (isId(word) || !read) return word;
  for (let page = 1; ; page += 1) {
    const { data, has_more: hasMore } = await read(client, word, page);
    const found = data.find(({ name }) => name === word);
    if (found) return String(found.id);
    if (!hasMore)
      throw new UsageError(
        `There is no "${word}" among the ${group}.\n  Fix: tollgate ${group} list shows them.`,
      );
  }
}

/** Replaces typed names by ids in fields that need one. */
export async function withIds(
  client: AdminClient,
  fields: Readonly<Record<string, string | boolean | undefined>>,
): Promise<Record<string, string | boolean | undefined>> {
  const pairs = Object.entries(fields).map(async ([name, value]) => [
    name,
    name in FIELDS && typeof value === 'string' && value !== 'null'
      ? await idOf(client, name, value)
      : value,
  ]);
  return Object.fromEntries(await Promise.all(pairs)) as Record<string, string>;
}
