import type { AdminClient } from '../admin-client.ts';
import type { StartFile } from '../stack/start-file.ts';
import { seedDemo, UPSTREAM_MODEL } from './demo.ts';
import { unlessDone } from './ensure.ts';

const MODELS = 300;
const UPSTREAMS = 20;
const NODES = 50;
const ROUTES = 1_000;
/** Every so many upstreams one speaks the protocol of Anthropic. */
const ANTHROPIC_EVERY = 4;
/** Every so many routes one is disabled. */
const DISABLED_EVERY = 40;
/** Is the number of models that carry requests: most routes of a large installation rest. */
const CALLED_MODELS = 6;
const CALLS = 12;
const PAGE_SIZE = 100;
const PARALLEL = 8;
const OWNERS = ['alder', 'birch', 'cedar', 'elm', 'fir', 'hazel', 'larch', 'maple', 'oak', 'pine'];
const FAMILIES = ['chat', 'code', 'reason', 'vision', 'small'];
const AMOUNT = '50';
const TOKENS = 100_000;

type Row = Record<string, unknown>;
type Created = ReadonlyMap<string, number>;

/** Fills an installation as a large operator has it: 300 models, 20 upstreams, 50 nodes and 1,000 routes. It may be repeated after an interruption. */
export async function seedLarge(
  admin: AdminClient,
  running: Pick<StartFile, 'user' | 'upstreamUrl' | 'baseUrl'>,
): Promise<string> {
  const upstreams = await ensureEach(admin, '/upstreams', upstreamsAt(running.upstreamUrl));
  const models = await ensureEach(admin, '/models', modelRows());
  await ensureRoutes(admin, models, upstreams);
  await ensureNodes(admin);
  const key = await seedDemo(admin, running);
  await callSome(admin, running, { key, models });
  return `There are ${MODELS} models, ${UPSTREAMS} upstreams, ${NODES} nodes and ${ROUTES} routes of "large".`;
}

function upstreamsAt(upstreamUrl: string): Row[] {
  return Array.from({ length: UPSTREAMS }, (_, index) => ({
    name: `large-${String(index + 1).padStart(2, '0')}`,
    protocol: index % ANTHROPIC_EVERY === 3 ? 'anthropic' : 'openai',
    base_url: `${upstreamUrl}/v1`,
    api_key: 'demo-upstream-key',
  }));
}

function modelRows(): Row[] {
  return Array.from({ length: MODELS }, (_, index) => ({
    name: modelName(index),
    owned_by: OWNERS[index % OWNERS.length],
    context_window: 128_000,
    price: { price_per_million: String(1 + (index % 40) / 4), weight_output: '4' },
    is_on_shelf: index % 10 !== 9,
  }));
}

function modelName(index: number): string {
  const family = FAMILIES[Math.floor(index / OWNERS.length) % FAMILIES.length];
  return `${OWNERS[index % OWNERS.length]}-${family}-${String(index + 1).padStart(3, '0')}`;
}

/** Spreads the routes over models and upstreams: three or four of a model, in two tiers. */
async function ensureRoutes(admin: AdminClient, models: Created, upstreams: Created) {
  const known = new Set(
    (await everyRow(admin, '/routing')).map(
      (row) => `${String(row.model_id)} ${String(row.upstream_id)}`,
    ),
  );
  const upstreamIds = [...upstreams.values()];
  const routes = Array.from({ length: ROUTES }, (_, index) => {
    const model = index % MODELS;
    const round = Math.floor(index / MODELS);
    return {
      model_id: models.get(modelName(model)),
      upstream_id: upstreamIds[(model * 7 + round * 3) % UPSTREAMS],
      upstream_model: UPSTREAM_MODEL,
      priority: round < 2 ? 1 : 2,
      weight: 1 + (model % 3),
      enabled: index % DISABLED_EVERY !== DISABLED_EVERY - 1,
    };
  });
  const missing = routes.filter((row) => !known.has(`${row.model_id} ${row.upstream_id}`));
  await inParallel(missing, (row) => admin.call('POST', '/routing', row));
}

/** Registers what lacks to the nodes that run; none of the new ones ever starts. */
async function ensureNodes(admin: AdminClient): Promise<void> {
  const names = new Set((await everyRow(admin, '/proxy-nodes')).map(({ name }) => name));
  const wanted = Array.from(
    { length: NODES },
    (_, index) => `large-${String(index + 1).padStart(2, '0')}`,
  );
  const missing = wanted.filter((name) => !names.has(name)).slice(0, NODES - names.size);
  await inParallel(missing, (name) => admin.call('POST', '/proxy-nodes', { name }));
}

/** Sends requests to a few models: what rests and what works look different. */
async function callSome(
  admin: AdminClient,
  { user, baseUrl }: Pick<StartFile, 'user' | 'baseUrl'>,
  { key, models }: { key: string; models: Created },
): Promise<void> {
  const names = Array.from({ length: CALLED_MODELS }, (_, index) => modelName(index));
  const account = (await admin.list(`/users?q=${user.username}`)).find(
    ({ username }) => username === user.username,
  );
  await admin.adminRecharge({
    userId: Number(account?.id),
    amount: AMOUNT,
    note: 'large',
    idempotencyKey: 'seed-large',
  });
  const client = await admin.login(user.username, user.password);
  for (const name of names)
    await unlessDone(() => client.subscribe({ model_id: models.get(name) ?? 0, tokens: TOKENS }));
  await admin.syncAll();
  const calls = names.flatMap((name) => Array.from({ length: CALLS }, () => name));
  await inParallel(calls, async (model) => {
    const answer = await fetch(`${baseUrl}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }] }),
    });
    await answer.arrayBuffer();
  });
}

/** Creates the rows whose names are missing. Returns the ids of all of them by name. */
async function ensureEach(
  admin: AdminClient,
  path: string,
  rows: readonly Row[],
): Promise<Created> {
  const ids = new Map<string, number>();
  for (const row of await everyRow(admin, path)) ids.set(String(row.name), Number(row.id));
  const missing = rows.filter(({ name }) => !ids.has(String(name)));
  await inParallel(missing, async (row) => {
    const created = Object(await admin.call('POST', path, row));
    ids.set(String(row.name), Number(created.id));
  });
  return new Map(rows.map(({ name }) => [String(name), ids.get(String(name)) ?? 0]));
}

async function everyRow(admin: AdminClient, path: string): Promise<Row[]> {
  const rows: Row[] = [];
  for (let page = 1; ; page += 1) {
    const found = await admin.list(`${path}?page_size=${PAGE_SIZE}&page=${page}`);
    rows.push(...found);
    if (found.length < PAGE_SIZE) return rows;
  }
}

async function inParallel<Entry>(
  entries: readonly Entry[],
  work: (entry: Entry) => Promise<unknown>,
): Promise<void> {
  const rest = entries.values();
  const workers = Array.from({ length: PARALLEL }, async () => {
    for (const entry of rest) await work(entry);
  });
  await Promise.all(workers);
}
