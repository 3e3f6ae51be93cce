import { AdminClient, type NewPrice } from '../admin-client.ts';
import type { Credentials } from '../stack/start-file.ts';
import { ensure, unlessDone } from './ensure.ts';

export const CHAT_MODEL = 'demo-chat';
export const EMBEDDING_MODEL = 'demo-embedding';

const WALLET_AMOUNT = '100';
const TOKENS = 1_000_000;
/** Is the window of the demo's chat models: without one, documents and the provider's tools are refused, and the configuration check warns. */
export const CONTEXT_WINDOW = 128_000;
/** Follows the prices of providers for their caches. */
export const CACHE_WEIGHTS = {
  weight_cache_read: '0.1',
  weight_cache_write: '1.25',
  weight_cache_write_1h: '2',
} as const;
/** Is the models' name at the demo upstream, which chooses its behaviour by this name. */
export const UPSTREAM_MODEL = 'demo-ok';

/**
 * Creates the demo of `npm start`: one user with money, a chat model with a route of each protocol, an embedding model, subscriptions and a key.
 * It uses the administration API only, and may be repeated after an interruption. Returns the secret of a new key.
 */
export async function seedDemo(
  admin: AdminClient,
  { user, upstreamUrl }: { user: Credentials; upstreamUrl: string },
): Promise<string> {
  const [openai, anthropic] = await Promise.all([
    ensureUpstream(admin, 'openai', upstreamUrl),
    ensureUpstream(admin, 'anthropic', upstreamUrl),
  ]);
  const chat = await ensureModel(admin, {
    name: CHAT_MODEL,
    display_name: 'Demo chat',
    kind: 'chat',
    context_window: CONTEXT_WINDOW,
    price: { price_per_million: '2', weight_output: '4', ...CACHE_WEIGHTS },
  });
  const embedding = await ensureModel(admin, {
    name: EMBEDDING_MODEL,
    display_name: 'Demo embedding',
    kind: 'embedding',
    price: { price_per_million: '0.1' },
  });
  await ensureRoute(admin, chat, openai);
  await ensureRoute(admin, chat, anthropic);
  await ensureRoute(admin, embedding, openai);
  const client = await ensureUser(admin, user);
  for (const model_id of [chat, embedding])
    await unlessDone(() => client.subscribe({ model_id, tokens: TOKENS }));
  const { key } = await client.createKey({
    name: 'demo',
    allowed_models: '*',
    rpm: 600,
    rph: 0,
    rpd: 0,
  });
  await admin.syncAll();
  return key;
}

function ensureUpstream(
  admin: AdminClient,
  protocol: 'openai' | 'anthropic',
  upstreamUrl: string,
): Promise<number> {
  const name = `demo-${protocol}`;
  return ensure({
    admin,
    list: `/upstreams?q=${name}`,
    matches: (row) => row.name === name,
    create: () =>
      admin.createUpstream({
        name,
        protocol,
        base_url: `${upstreamUrl}/v1`,
        api_key: 'demo-upstream-key',
      }),
  });
}

function ensureModel(
  admin: AdminClient,
  model: {
    name: string;
    display_name: string;
    kind: 'chat' | 'embedding';
    context_window?: number;
    price: NewPrice;
  },
): Promise<number> {
  return ensure({
    admin,
    list: `/models?q=${model.name}`,
    matches: (row) => row.name === model.name,
    create: () => admin.createModel({ ...model, is_on_shelf: true }),
  });
}

function ensureRoute(admin: AdminClient, model_id: number, upstream_id: number): Promise<number> {
  return ensure({
    admin,
    list: `/routing?model_id=${model_id}`,
    matches: (row) => row.model_id === model_id && row.upstream_id === upstream_id,
    create: () => admin.createRoute({ model_id, upstream_id, upstream_model: UPSTREAM_MODEL }),
  });
}

async function ensureUser(
  admin: AdminClient,
  { username, password }: Credentials,
): Promise<AdminClient> {
  const userId = await ensure({
    admin,
    list: `/users?q=${username}`,
    matches: (row) => row.username === username,
    create: () => new AdminClient(admin.baseUrl).register(username, password),
  });
  await admin.call('PUT', `/users/${userId}`, { is_demo: true });
  await unlessDone(() => admin.approve(userId));
  await admin.adminRecharge({
    userId,
    amount: WALLET_AMOUNT,
    note: 'demo',
    idempotencyKey: 'seed-demo',
  });
  return admin.login(username, password);
}
