import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import {
  createCustomer,
  createRoutedModel,
  startTollgate,
  type RoutedModel,
  subscribeWithKey,
  type Tollgate,
} from '@tollgate/harness';
import { z } from 'zod';

/** Is the number of sessions of agents: each turn sends what was said so far and a little more, through any node of the fleet. */
const SESSIONS = 24;
const TURNS = 8;
const UPSTREAMS = 3;
const answer = z.looseObject({
  usage: z.looseObject({
    prompt_tokens: z.number(),
    prompt_tokens_details: z.looseObject({ cached_tokens: z.number() }),
  }),
});
const asked = z.looseObject({ messages: z.array(z.unknown()) });

/** Is a provider with a prompt cache of its own: a prefix of messages that it has seen is read from the cache. */
class CachingUpstream {
  readonly #seen = new Set<string>();
  readonly #server: Server = createServer((request, response) => {
    void this.#reply(request).then((body) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(body));
    });
  });

  async open(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async #reply(request: IncomingMessage): Promise<object> {
    const { messages } = asked.parse(JSON.parse(await text(request)));
    const prefixes = messages.map((_, at) => JSON.stringify(messages.slice(0, at + 1)));
    const cached = prefixes.findLast((prefix) => this.#seen.has(prefix)) ?? '';
    for (const prefix of prefixes) this.#seen.add(prefix);
    const prompt = Math.ceil((prefixes.at(-1) ?? '').length / 4);
    return {
      id: 'c',
      object: 'chat.completion',
      created: 1,
      model: 'm',
      choices: [{ index: 0, message: { role: 'assistant', content: 'ok' }, finish_reason: 'stop' }],
      usage: {
        prompt_tokens: prompt,
        completion_tokens: 1,
        total_tokens: prompt + 1,
        prompt_tokens_details: { cached_tokens: Math.floor(cached.length / 4) },
      },
    };
  }
}

const upstreams = Array.from({ length: UPSTREAMS }, () => new CachingUpstream());
let tollgate: Tollgate;
let spread: RoutedModel;
/** Has one upstream, so that every turn finds its cache. */
let alone: RoutedModel;
let key: string;
beforeAll(async () => {
  tollgate = await startTollgate({ nodes: 3 });
  spread = await createRoutedModel(tollgate, { protocols: [] });
  alone = await createRoutedModel(tollgate, { protocols: [] });
  for (const [at, upstream] of upstreams.entries()) {
    const upstream_id = await tollgate.admin.createUpstream({
      name: `caching-${at}`,
      protocol: 'openai',
      base_url: await upstream.open(),
    });
    for (const { id } of at === 0 ? [spread, alone] : [spread])
      await tollgate.admin.createRoute({ model_id: id, upstream_id, upstream_model: 'm' });
  }
  const customer = await createCustomer(tollgate);
  key = await subscribeWithKey(customer, { modelIds: [spread.id, alone.id], tokens: 50_000_000 });
  await tollgate.admin.syncAll();
}, 60_000);
afterAll(async () => {
  await tollgate?.stop();
  for (const upstream of upstreams) upstream.close();
}, 30_000);

/** Returns the tokens that were read from caches, as the gateway reports them to its client. */
async function replay(model: RoutedModel, nodes: readonly string[]): Promise<number> {
  const { name } = model;
  let read = 0;
  for (let session = 0; session < SESSIONS; session += 1) {
    const messages = [
      { role: 'system', content: `${name} ${session} ` + 'be exact. '.repeat(500) },
    ];
    // Half of the clients name their sessions; the other half is known by how the prompt begins.
    const named = session % 2 === 0 ? { 'session-id': `${name}-${session}` } : {};
    for (let turn = 0; turn < TURNS; turn += 1) {
      messages.push({ role: 'user', content: `turn ${turn} ` + 'do the next step. '.repeat(20) });
      const response = await fetch(
        `${nodes[(turn + session) % nodes.length]}/v1/chat/completions`,
        {
          method: 'POST',
          headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...named },
          body: JSON.stringify({ model: model.name, max_tokens: 5, messages }),
        },
      );
      const { usage } = answer.parse(await response.json());
      read += usage.prompt_tokens_details.cached_tokens;
      messages.push({ role: 'assistant', content: 'ok' });
    }
  }
  return read;
}

test('agent sessions over three nodes read at least 95 % of the cache tokens that one node reads', async () => {
  const one = await replay(alone, tollgate.nodeUrls.slice(0, 1));
  const three = await replay(spread, tollgate.nodeUrls);
  expect(one).toBeGreaterThan(SESSIONS * (TURNS - 1) * 1_000);
  expect(three / one).toBeGreaterThanOrEqual(0.95);
}, 60_000);
