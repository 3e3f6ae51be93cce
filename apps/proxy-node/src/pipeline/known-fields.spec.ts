import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { INSTRUCTIONS } from '../testing/instructions.ts';
import { startLocalUpstream, type LocalUpstream } from '../testing/local-upstream.ts';
import { startNodeUnderTest, type NodeUnderTest } from '../testing/node-under-test.ts';

const NAMES = Object.values(INSTRUCTIONS).flat();
const WEIGHT = 1_000_000;

let node: NodeUnderTest;
let openai: LocalUpstream;
let anthropic: LocalUpstream;
/** Names the models of upstreams that take known fields, and of one that takes all. */
const models = { openai: '', anthropic: '', all: '', mixed: '', priced: '' };

beforeAll(async () => {
  node = await startNodeUnderTest();
  openai = await startLocalUpstream((response, _, { url }) =>
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify(ANSWERS[url ?? ''])),
  );
  anthropic = await startLocalUpstream((response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(
      JSON.stringify({
        type: 'message',
        content: [{ type: 'text', text: 'ok' }],
        stop_reason: 'end_turn',
        usage: { input_tokens: 1, output_tokens: 1 },
      }),
    ),
  );
  const speaks = { endpoints: ['responses' as const, 'completions' as const] };
  const known = { fields: 'known' as const, ...speaks };
  const at = { baseUrl: openai.baseUrl, upstreamModel: 'real' };
  const add = async (...args: Parameters<NodeUnderTest['addModel']>) =>
    (await node.addModel(...args)).name;
  models.openai = await add([{ ...at, overrides: known }], { context_window: 1_000 });
  models.all = await add([{ ...at, overrides: speaks }], { context_window: 1_000 });
  models.mixed = await add([{ ...at }, { ...at, priority: 1, overrides: known }]);
  models.priced = await add([{ ...at, overrides: known }], {
    context_window: 1_000,
    prices: [PRICE],
  });
  const messages = { baseUrl: anthropic.baseUrl, protocol: 'anthropic' as const };
  models.anthropic = await add([{ ...messages, overrides: { fields: 'known' } }], {
    context_window: 1_000,
  });
});
afterAll(async () => {
  await node.stop();
  await openai.close();
  await anthropic.close();
});

const USAGE = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
const MESSAGE = { role: 'assistant', content: 'ok' };
const ANSWERS: Record<string, object> = {
  '/v1/chat/completions': {
    choices: [{ index: 0, message: MESSAGE, finish_reason: 'stop' }],
    usage: USAGE,
  },
  '/v1/completions': {
    choices: [{ index: 0, text: 'ok', finish_reason: 'stop' }],
    usage: USAGE,
  },
  '/v1/responses': {
    id: 'resp_1',
    object: 'response',
    status: 'completed',
    output: [],
    usage: { input_tokens: 1, output_tokens: 1 },
  },
  '/v1/responses/input_tokens': { object: 'response.input_tokens', input_tokens: 7 },
  '/v1/conversations': { id: 'conv_1', object: 'conversation' },
};
const PRICE = {
  id: 901,
  effective_at: 0,
  weight_input: WEIGHT,
  weight_output: WEIGHT,
  weight_cache_read: WEIGHT,
  weight_cache_write: WEIGHT,
  multipliers: {
    'nested_model=dear': 3 * WEIGHT,
    'service_tier=priority': 2 * WEIGHT,
    'server_tools=web_search': 2 * WEIGHT,
  },
};

const HEAD = '"messages": [ {"role":"user","content":"hi"} ],  "max_tokens":5';
const chatOf = (model: string, more = ''): string => `{"model":"${model}", ${HEAD}${more} }`;

/** Sends these bytes; answers what reached the upstream, and what the answer says of it. */
async function send(body: string, path = '/v1/chat/completions') {
  const upstream = path.startsWith('/v1/messages') ? anthropic : openai;
  const before = upstream.requests.length;
  const response = await fetch(`${node.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${node.apiKey}` },
    body,
  });
  const text = await response.text();
  const sent = upstream.requests.slice(before).at(-1)?.body ?? '';
  return {
    status: response.status,
    dropped: response.headers.get('x-tollgate-dropped'),
    sent,
    text,
  };
}

describe('an upstream that takes known fields gets no instruction to a gateway or server (S26d)', () => {
  test.each(Object.entries(INSTRUCTIONS))('of %s', async (_, names) => {
    for (let at = 0; at < names.length; at += 12) {
      const some = names.slice(at, at + 12);
      const fields = some.map((name) => `, ${JSON.stringify(name)}: {"a":[1]}`).join('');
      const { status, dropped, sent } = await send(chatOf(models.openai, `${fields}, "seed":4`));
      expect([status, dropped, sent]).toEqual([200, some.join(', '), chatOf('real', ', "seed":4')]);
    }
  });

  test('and the list of them is long', () => expect(NAMES.length).toBeGreaterThanOrEqual(184));

  const all = Object.fromEntries(NAMES.map((name) => [name, 'x']));
  /** An envelope refuses these by name, where they would go over what the hold knows of. */
  const REFUSED = new Set(['chat_template', 'mm_processor_kwargs']);
  const request = { model: '', max_tokens: 5, messages: [{ role: 'user', content: 'hi' }] };

  test.each([
    'extra_body',
    'extra_params',
    'model_kwargs',
    'providerOptions',
    'provider_options',
    'litellm_params',
    'litellm_metadata',
    'options',
    'parameters',
    'sampling_params',
    'portkey_config',
    'nvext',
    'vllm_xargs',
    'stream_options',
  ])('within %s', async (carrier) => {
    const passed = Object.fromEntries(Object.entries(all).filter(([name]) => !REFUSED.has(name)));
    const inner = { ...passed, gateway: { models: ['x'], ...all } };
    const body = { ...request, model: models.openai, [carrier]: inner };
    const { status, sent, dropped } = await send(JSON.stringify(body));
    expect([status, dropped?.startsWith(carrier)]).toEqual([200, true]);
    expect(NAMES.filter((name) => sent.includes(`"${name}"`))).toEqual([]);
  });

  test.each<[string, () => object]>([
    ['/v1/messages', () => ({ ...request, model: models.anthropic })],
    ['/v1/messages/count_tokens', () => ({ ...request, model: models.anthropic })],
    ['/v1/completions', () => ({ model: models.openai, prompt: 'hi', max_tokens: 5 })],
    ['/v1/responses', () => ({ model: models.openai, input: 'hi', max_output_tokens: 5 })],
    ['/v1/responses/input_tokens', () => ({ model: models.openai, input: 'hi' })],
    ['/v1/conversations', () => ({ items: [] })],
  ])('at %s', async (path, body) => {
    const { status, sent, dropped } = await send(
      JSON.stringify({ ...body(), ...all, metadata: { langfuse_host: 'x', tags: ['x'] } }),
      path,
    );
    expect([status, sent.length > 0, dropped?.includes('_')]).toEqual([200, true, true]);
    const members = Object.keys(JSON.parse(sent));
    // Fields that OpenAI itself calls a template are refused with other reasons.
    expect(NAMES.filter((name) => members.includes(name))).toEqual([]);
    expect(sent).not.toMatch(/langfuse_host|tags/);
  });

  test('as a label of the caller', async () => {
    const metadata = {
      langfuse_host: 'x',
      tags: ['x'],
      model_info: { a: 1 },
      own: 'x',
      model: 'y',
    };
    const { sent, dropped } = await send(
      chatOf(models.openai, `, "metadata":${JSON.stringify(metadata)}`),
    );
    expect(JSON.parse(sent).metadata).toEqual({ own: 'x', model: 'y' });
    expect(dropped).toBe('metadata.langfuse_host, metadata.tags, metadata.model_info');
  });
});

describe('what an upstream with known fields gets', () => {
  test('is the request with every byte of its own where nothing is dropped', async () => {
    const fields =
      ', "top_k" :40,"min_p":0.05 ,"guided_json":{"a": 9007199254740993}, "chat_template_kwargs":{"enable_thinking":false},"metadata":{"b":"\\u00e9"},"seed":1e2 ';
    const { status, dropped, sent } = await send(chatOf(models.openai, fields));
    expect([status, dropped, sent]).toEqual([200, null, chatOf('real', fields)]);
  });

  test('keeps every other byte where something is dropped, first, between and last', async () => {
    const body = `{"rpm" : 1 , "model":"${models.openai}", "tpm":[{"a":"}"}],\n ${HEAD} , "seed": 1E2, "x\\u0079z":"\\"" }`;
    const { dropped, sent } = await send(body);
    expect(dropped).toBe('rpm, tpm, xyz');
    expect(sent).toBe(`{"model":"real", ${HEAD} , "seed": 1E2 }`);
  });

  test('is decided by one route that takes known fields, for all routes of the model', async () => {
    const { dropped, sent } = await send(chatOf(models.mixed, ', "lora_path":"x"'));
    expect([dropped, sent]).toEqual(['lora_path', chatOf('real')]);
  });

  test('names no price that it does not cost: a further model in a dropped field is not charged', async () => {
    const { status, dropped } = await send(chatOf(models.priced, ', "agent":{"model":"dear"}'));
    expect([status, dropped]).toEqual([200, 'agent']);
    expect((await send(chatOf(models.all, ', "agent":{"model":"dear"}'))).status).toBe(400);
  });

  test('has the tiers and tools that its price names', async () => {
    const fields = ', "service_tier":"priority", "search_parameters":{"mode":"on"}';
    expect(await send(chatOf(models.priced, fields))).toMatchObject({
      dropped: null,
      sent: chatOf('real', fields),
    });
    expect((await send(chatOf(models.openai, ', "web_search":true'))).status).toBe(400);
  });
});

test('an upstream that takes all fields gets what no table knows', async () => {
  const { dropped, sent } = await send(chatOf(models.all, ', "lora_path":"x"'));
  expect([dropped, sent]).toEqual([null, chatOf('real', ', "lora_path":"x"')]);
});

describe('x-tollgate-dropped', () => {
  test.each<[string, string]>([
    ['a\r\nx-evil: 1', 'a%0D%0Ax-evil%3A%201'],
    ['a, b', 'a%2C%20b'],
    ['é\u{1f600}', '%C3%A9%F0%9F%98%80'],
    ['\ud800', '%EF%BF%BD'],
    ['__proto__', '__proto__'],
    ['%41', '%2541'],
    ['n'.repeat(5_000), `${'n'.repeat(64)}*`],
  ])('carries the name %j safely', async (name, shown) => {
    const body = chatOf(models.openai, `, ${JSON.stringify(name)}:1`);
    expect(await send(body)).toMatchObject({ status: 200, dropped: shown, sent: chatOf('real') });
  });

  test('is bounded, however many are dropped', async () => {
    const many = Array.from({ length: 900 }, (_, at) => `, "${'é'.repeat(60)}${at}":1`).join('');
    const { status, dropped, sent } = await send(chatOf(models.openai, many));
    expect([status, sent]).toEqual([200, chatOf('real')]);
    expect(dropped).toMatch(/, \+89\d$/);
    expect(dropped?.length).toBeLessThan(1_100);
  });

  test('names an object once that would lose many members', async () => {
    const tags = Object.fromEntries(Array.from({ length: 5_000 }, (_, at) => [`l${at}`, [at]]));
    const { dropped, sent } = await send(
      chatOf(models.openai, `, "metadata":${JSON.stringify(tags)}`),
    );
    expect([dropped, sent]).toEqual(['metadata', chatOf('real')]);
  });
});

test('chat: an answer that no caller could read back is not stored, and its fields are named', async () => {
  const stored = chatOf(models.openai, ', "store":true, "metadata":{"a":"b"}');
  expect(await send(stored)).toMatchObject({ dropped: 'store, metadata', sent: chatOf('real') });
  const plain = ', "store":false, "metadata":{"a":"b"}';
  expect(await send(chatOf(models.openai, plain))).toMatchObject({
    dropped: null,
    sent: chatOf('real', plain),
  });
});
