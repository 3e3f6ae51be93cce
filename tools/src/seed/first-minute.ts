import { setTimeout as sleep } from 'node:timers/promises';
import { AdminClient } from '../admin-client.ts';
import {
  CACHE_WEIGHTS,
  CHAT_MODEL,
  CONTEXT_WINDOW,
  EMBEDDING_MODEL,
  UPSTREAM_MODEL,
} from './demo.ts';
import { ensure, unlessDone } from './ensure.ts';

/** Is the number of requests that are sent in the first minute after the address is printed, then never again. */
const REQUESTS = 300;
const PAUSE_MS = 180;
/** The second chat model's upstream fails for these requests: long enough for an alert and for its end to be seen. */
const FAILING_FROM = 100;
const FAILING_TO = 160;
const REQUEST_TIMEOUT_MS = 20_000;
const FLAKY_MODEL = 'demo-reasoning';
const FLAKY_PRICE = {
  price_per_million: '6',
  weight_output: '5',
  ...CACHE_WEIGHTS,
  multipliers: { 'service_tier=priority': '1.75' },
};
/** Is used up by its user within the minute, so that a low balance and a refusal can be seen. */
const LOW_TOKENS = 4_000;

interface Guest {
  name: string;
  tokens: number;
  models: readonly string[];
  /** Counts the requests of this guest among every ten. */
  share: number;
}

const GUESTS: readonly Guest[] = [
  { name: 'demo-mara', tokens: 900_000, models: [CHAT_MODEL, FLAKY_MODEL], share: 4 },
  { name: 'demo-otto', tokens: 400_000, models: [CHAT_MODEL, EMBEDDING_MODEL], share: 3 },
  { name: 'demo-priya', tokens: LOW_TOKENS, models: [CHAT_MODEL], share: 1 },
  { name: 'demo-sven', tokens: 250_000, models: [FLAKY_MODEL, EMBEDDING_MODEL], share: 2 },
];
const PENDING = 'demo-newcomer';

const QUESTIONS = [
  'Summarise the week in three sentences.',
  'Which of these two plans is cheaper, and why?',
  'Write a polite reminder about an unpaid invoice.',
  'Explain a mutex to a cook.',
  'Translate: the parcel arrives on Monday.',
];

interface Demonstration {
  admin: AdminClient;
  /** Is the origin of /v1. */
  baseUrl: string;
  upstreamUrl: string;
  password: string;
}

interface DemoCaller {
  guest: Guest;
  key: string;
}

/** Makes accounts and a second chat model for the first minute. All of them are flagged as of the demo. It may be repeated after an interruption. */
export async function prepareFirstMinute(demo: Demonstration): Promise<DemoCaller[]> {
  const { admin } = demo;
  await prepareFlakyModel(demo);
  const callers: DemoCaller[] = [];
  for (const guest of GUESTS) callers.push({ guest, key: await welcome(demo, guest) });
  await flag(admin, await account(admin, PENDING, demo.password));
  await admin.syncAll();
  return callers;
}

async function prepareFlakyModel({ admin, upstreamUrl }: Demonstration): Promise<void> {
  const upstreamId = await ensure({
    admin,
    list: '/upstreams?q=demo-flaky',
    matches: (row) => row.name === 'demo-flaky',
    create: () =>
      admin.createUpstream({
        name: 'demo-flaky',
        protocol: 'openai',
        base_url: `${upstreamUrl}/v1`,
        api_key: 'demo-upstream-key',
      }),
  });
  const modelId = await ensure({
    admin,
    list: `/models?q=${FLAKY_MODEL}`,
    matches: (row) => row.name === FLAKY_MODEL,
    create: () =>
      admin.createModel({
        name: FLAKY_MODEL,
        display_name: 'Demo reasoning',
        kind: 'chat',
        context_window: CONTEXT_WINDOW,
        price: FLAKY_PRICE,
        is_on_shelf: true,
      }),
  });
  await ensure({
    admin,
    list: `/routing?model_id=${modelId}`,
    matches: (row) => row.model_id === modelId,
    create: () =>
      admin.createRoute({
        model_id: modelId,
        upstream_id: upstreamId,
        upstream_model: UPSTREAM_MODEL,
      }),
  });
}

async function welcome({ admin, password }: Demonstration, guest: Guest): Promise<string> {
  const userId = await account(admin, guest.name, password);
  await flag(admin, userId);
  await unlessDone(() => admin.approve(userId));
  await admin.adminRecharge({
    userId,
    amount: '25',
    note: 'demo',
    idempotencyKey: `first-minute-${guest.name}`,
  });
  const client = await admin.login(guest.name, password);
  for (const name of guest.models) {
    const model = (await admin.list(`/models?q=${name}`)).find((row) => row.name === name);
    await unlessDone(() => client.subscribe({ model_id: Number(model?.id), tokens: guest.tokens }));
  }
  return (await client.createKey({ name: 'service', allowed_models: '*', rpm: 0 })).key;
}

function account(admin: AdminClient, username: string, password: string): Promise<number> {
  return ensure({
    admin,
    list: `/users?q=${username}`,
    matches: (row) => row.username === username,
    create: () => new AdminClient(admin.baseUrl).register(username, password),
  });
}

async function flag(admin: AdminClient, userId: number): Promise<void> {
  await admin.call('PUT', `/users/${userId}`, { is_demo: true });
}

/** Sends some 300 requests through real nodes, within a minute; ends early when `isStopping`. What is refused or fails is part of the picture. */
export async function playFirstMinute(
  demo: Demonstration,
  callers: readonly DemoCaller[],
  isStopping: () => boolean,
  pauseMs = PAUSE_MS,
): Promise<number> {
  const turns = callers.flatMap((caller) =>
    Array.from({ length: caller.guest.share }, () => caller),
  );
  const sent: Promise<void>[] = [];
  for (let number = 0; number < REQUESTS && !isStopping(); number += 1) {
    const caller = turns[(number * 7) % turns.length];
    if (caller) sent.push(send(demo.baseUrl, caller, number));
    await sleep(pauseMs);
  }
  await Promise.all(sent);
  return sent.length;
}

async function send(baseUrl: string, { guest, key }: DemoCaller, number: number): Promise<void> {
  const model = guest.models[number % guest.models.length] ?? CHAT_MODEL;
  const isFailing = model === FLAKY_MODEL && number >= FAILING_FROM && number < FAILING_TO;
  const { path, body } = requestOf(
    model,
    number,
    isFailing
      ? 'mode=503'
      : `tokens=${20 + (number % 9) * 15}${number % 5 === 0 ? ' classes=all' : ''}`,
  );
  try {
    const response = await fetch(`${baseUrl}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
    });
    await response.arrayBuffer();
  } catch {
    // A node stops meanwhile; the next request shows it.
  }
}

/** Draws both chat protocols, streamed or not, and embeddings, so that every chart has more than one colour. */
function requestOf(
  model: string,
  number: number,
  directive: string,
): { path: string; body: object } {
  const content = `${QUESTIONS[number % QUESTIONS.length]} @demo ${directive}`;
  if (model === EMBEDDING_MODEL)
    return { path: '/v1/embeddings', body: { model, input: QUESTIONS[number % QUESTIONS.length] } };
  const messages = [{ role: 'user', content }];
  const stream = number % 3 !== 0;
  return number % 4 === 1
    ? { path: '/v1/messages', body: { model, messages, stream, max_tokens: 256 } }
    : { path: '/v1/chat/completions', body: { model, messages, stream, ...tierOf(model, number) } };
}

/** Returns a dearer tier now and then, where it has a price. */
function tierOf(model: string, number: number): { service_tier?: string } {
  return model === FLAKY_MODEL && number % 6 === 0 ? { service_tier: 'priority' } : {};
}

/** Deletes every account of the demo: it is hidden from then on, its money and tokens are given up, its ledgers stay. Answers their names. */
export async function closeDemo(admin: AdminClient): Promise<string[]> {
  const closed: string[] = [];
  for (;;) {
    const rows = await admin.list('/users?is_demo=true&page_size=100');
    if (rows.length === 0) return closed;
    for (const row of rows) {
      await admin.call('DELETE', `/users/${Number(row.id)}?forfeit=true`);
      closed.push(String(row.username));
    }
  }
}
