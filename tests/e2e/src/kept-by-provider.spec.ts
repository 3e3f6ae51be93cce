import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  startLocalUpstream,
  type LocalUpstream,
} from '../../../apps/proxy-node/src/testing/local-upstream.ts';
import {
  startNodeUnderTest,
  type NodeUnderTest,
} from '../../../apps/proxy-node/src/testing/node-under-test.ts';

/** What providers keep for their account besides responses: containers, sound, files. Every customer of the installation shares that account. */
type SnapshotModel = Awaited<ReturnType<NodeUnderTest['addModel']>>;
type Loose = ReturnType<typeof JSON.parse>;

const CONTAINERS = ['cntr_native', 'container_native'];
const SOUND = 'audio_native';

let node: NodeUnderTest;
let stranger: string;
let upstream: LocalUpstream;
let other: LocalUpstream;
/** Its upstream is where the account's conversations are. */
let conversing: SnapshotModel;

beforeAll(async () => {
  node = await startNodeUnderTest();
  stranger = (await node.addAccount(8)).key;
  [upstream, other] = [await startProvider(), await startProvider()];
  conversing = await modelOf('responses');
});
afterAll(async () => {
  await node.stop();
  await upstream.close();
  await other.close();
});

const CALL = {
  id: 'ci_1',
  type: 'code_interpreter_call',
  status: 'completed',
  code: '1',
  container_id: CONTAINERS[0],
};
const { id: _, ...NAMELESS } = CALL;
const CITATION = { type: 'container_file_citation', container_id: CONTAINERS[0], file_id: 'f' };
const MESSAGE = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  content: [{ type: 'output_text', text: 'hi', annotations: [CITATION] }],
};
const RESPONSE = {
  id: 'resp_1',
  object: 'response',
  status: 'completed',
  model: 'm',
  output: [CALL, MESSAGE],
  tools: [{ type: 'code_interpreter', container: CONTAINERS[0] }],
  usage: { input_tokens: 3, output_tokens: 2, total_tokens: 5 },
};
const container = { id: CONTAINERS[1], expires_at: '2027-01-01T00:00:00Z' };
const WHOLE: Record<string, object> = {
  responses: RESPONSE,
  messages: {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: [{ type: 'text', text: 'hi' }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    container,
    usage: { input_tokens: 3, output_tokens: 2 },
  },
  chat: {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: [
      {
        index: 0,
        finish_reason: 'stop',
        message: { role: 'assistant', content: null, audio: { id: SOUND, transcript: 'hi' } },
      },
    ],
    usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
  },
};
const EVENTS: Record<string, object[]> = {
  responses: [
    { type: 'response.created', response: { ...RESPONSE, status: 'in_progress', output: [] } },
    { type: 'response.output_item.added', output_index: 0, item: CALL },
    { type: 'response.output_text.annotation.added', item_id: 'msg_1', annotation: CITATION },
    { type: 'response.output_item.done', output_index: 1, item: MESSAGE },
    { type: 'response.completed', response: RESPONSE },
  ],
  messages: [
    { type: 'message_start', message: { ...WHOLE['messages'], content: [], stop_reason: null } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'hi' } },
    { type: 'content_block_stop', index: 0 },
    {
      type: 'message_delta',
      delta: { stop_reason: 'end_turn', stop_sequence: null, container },
      usage: { output_tokens: 2 },
    },
    { type: 'message_stop' },
  ],
  chat: [
    { audio: { id: SOUND, transcript: 'h' } },
    { audio: { id: SOUND, transcript: 'i' } },
    { content: 'hi' },
  ].map((delta, at) => ({
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [{ index: 0, delta, finish_reason: at === 2 ? 'stop' : null }],
  })),
};

type Kind = 'responses' | 'messages' | 'chat';
const PATHS: Record<Kind, string> = {
  responses: '/v1/responses',
  messages: '/v1/messages',
  chat: '/v1/chat/completions',
};

/** Answers as the provider of each protocol does, and has conversations. */
function startProvider(): Promise<LocalUpstream> {
  return startLocalUpstream((reply, text, { url = '' }) => {
    const [kind] = Object.entries(PATHS).find(([, path]) => url === path) ?? [];
    const body: Loose = text === '' ? {} : JSON.parse(text);
    const isStream = body.stream === true;
    reply.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' });
    if (kind === undefined) return reply.end('{"id":"conv_1","object":"conversation","data":[]}');
    if (!isStream) return reply.end(JSON.stringify(WHOLE[kind]));
    for (const event of EVENTS[kind] ?? [])
      reply.write(
        'type' in event
          ? `event: ${String(event.type)}\ndata: ${JSON.stringify(event)}\n\n`
          : `data: ${JSON.stringify(event)}\n\n`,
      );
    return reply.end(kind === 'chat' ? 'data: [DONE]\n\n' : '');
  });
}

/** Code may be run at the ordinary price. */
const PRICE = {
  id: 900,
  effective_at: 0,
  weight_input: 1_000_000,
  weight_output: 1_000_000,
  weight_cache_read: 1_000_000,
  weight_cache_write: 1_000_000,
  multipliers: { 'server_tools=code_interpreter': 1_000_000 },
};

/** A model of the first provider alone, or of both. */
function modelOf(kind: Kind, { onBoth = false, passes = false } = {}): Promise<SnapshotModel> {
  const of = ({ baseUrl }: LocalUpstream, priority: number) => ({
    baseUrl,
    priority,
    protocol: kind === 'messages' ? ('anthropic' as const) : ('openai' as const),
    overrides: {
      endpoints: ['responses' as const],
      ...(passes && priority === 2 && { passes_file_ids: true }),
    },
  });
  const both = [of(upstream, 1), ...(onBoth ? [of(other, 2)] : [])];
  return node.addModel(both, { context_window: 5_000, prices: [PRICE] });
}

async function ask(
  path: string,
  body: object,
  key = node.apiKey,
): Promise<{ status: number; text: string }> {
  const response = await fetch(`${node.url}${path}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'anthropic-version': '2023-06-01',
    },
    body: JSON.stringify(body),
  });
  return { status: response.status, text: await response.text() };
}

function asking(kind: Kind, model: SnapshotModel, fields: object = {}): object {
  const words = [{ role: 'user', content: 'hi' }];
  if (kind === 'responses') return { model: model.name, input: words, ...fields };
  return { model: model.name, max_tokens: 50, messages: words, ...fields };
}

/** How a request of each protocol names what an earlier answer left behind. */
const NAMED: [Kind, string, (id: string) => object][] = [
  [
    'responses',
    'input[1].container_id',
    (id) => ({
      input: [
        { role: 'user', content: 'hi' },
        { ...CALL, container_id: id },
      ],
    }),
  ],
  [
    'responses',
    'input[1].tools[0].container',
    (id) => ({
      input: [
        { role: 'user', content: 'hi' },
        {
          type: 'additional_tools',
          role: 'developer',
          tools: [{ type: 'code_interpreter', container: id }],
        },
      ],
    }),
  ],
  ['messages', 'container', (id) => ({ container: id })],
  ['messages', 'container.id', (id) => ({ container: { id, skills: [] } })],
  [
    'chat',
    'messages[1].audio.id',
    (id) => ({
      messages: [
        { role: 'user', content: 'hi' },
        { role: 'assistant', audio: { id } },
      ],
    }),
  ],
];

const nativeOf = (kind: Kind): string =>
  ({ responses: 'cntr_native', messages: 'container_native', chat: SOUND })[kind];
const SEALED = /(?:cntr|container|audio)_tg[\w-]{40,}/g;

describe.each(NAMED)('what the provider of %s keeps (%s)', (kind, param, named) => {
  test.each(['whole', 'stream'])('leaves the gateway sealed: %s', async (form) => {
    const model = await modelOf(kind);
    const { status, text } = await ask(
      PATHS[kind],
      asking(kind, model, { stream: form === 'stream' }),
    );
    expect(status).toBe(200);
    expect(text).not.toContain(nativeOf(kind));
    const sealed = text.match(SEALED) ?? [];
    expect(new Set(sealed).size).toBe(1);
    expect(sealed.length).toBe(
      JSON.stringify(form === 'stream' ? EVENTS[kind] : WHOLE[kind]).split(nativeOf(kind)).length -
        1,
    );
  });

  test('is named again by its sealed id: the request goes to that upstream, with the native one', async () => {
    const model = await modelOf(kind, { onBoth: true });
    const first = await ask(PATHS[kind], asking(kind, model));
    const [sealed = ''] = first.text.match(SEALED) ?? [];
    const again = await ask(PATHS[kind], asking(kind, model, named(sealed)));
    expect(again.status).toBe(200);
    expect(upstream.requests.at(-1)?.body).toContain(`"${nativeOf(kind)}"`);
    expect(upstream.requests.at(-1)?.body).not.toContain('_tg');
  });

  test('is nothing to another account, nor by the id that the provider knows', async () => {
    const model = await modelOf(kind);
    const { text } = await ask(PATHS[kind], asking(kind, model));
    const [sealed = ''] = text.match(SEALED) ?? [];
    const before = upstream.requests.length;
    for (const [id, key] of [
      [sealed, stranger],
      [nativeOf(kind), node.apiKey],
      [`${sealed.slice(0, -4)}AAAA`, node.apiKey],
    ]) {
      const refused = await ask(PATHS[kind], asking(kind, model, named(id ?? '')), key);
      expect(refused.status).toBe(404);
      expect(refused.text).toContain(`is stored for this account`);
      if (kind !== 'messages')
        expect(JSON.parse(refused.text).error).toMatchObject({ code: 'stored_not_found', param });
    }
    expect(upstream.requests).toHaveLength(before);
  });
});

describe('files by id', () => {
  const FILES: [Kind, object, string][] = [
    [
      'responses',
      { input: [{ role: 'user', content: [{ type: 'input_file', file_id: 'file-1' }] }] },
      'input[0].content[0].file_id',
    ],
    [
      'messages',
      {
        messages: [
          { role: 'user', content: [{ type: 'document', source: { type: 'file', file_id: 'f' } }] },
        ],
      },
      'messages[0].content[0].source.file_id',
    ],
    [
      'chat',
      {
        messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: 'file-1' } }] }],
      },
      'messages[0].content[0].file.file_id',
    ],
  ];

  test.each(FILES)(
    'of %s are refused where no upstream passes them',
    async (kind, fields, param) => {
      const model = await modelOf(kind, { onBoth: true });
      for (const stream of [false, true]) {
        const { status, text } = await ask(PATHS[kind], asking(kind, model, { ...fields, stream }));
        expect(status).toBe(400);
        expect(text).toContain(param);
      }
    },
  );

  test.each(FILES)(
    'of %s go to the upstream that passes them, whatever its place',
    async (kind, fields) => {
      const model = await modelOf(kind, { onBoth: true, passes: true });
      const before = upstream.requests.length;
      for (const stream of [false, true])
        expect((await ask(PATHS[kind], asking(kind, model, { ...fields, stream }))).status).toBe(
          200,
        );
      expect(upstream.requests).toHaveLength(before);
      expect(other.requests.at(-1)?.body).toContain('file_id');
      expect((await ask(PATHS[kind], asking(kind, model))).status).toBe(200);
      expect(upstream.requests).toHaveLength(before + 1);
    },
  );
});

describe("what leads to the state of the provider's account", () => {
  test.each<[Kind, object, string]>([
    ['messages', { thread: { type: 'continue', previous_message_id: 'msg_1' } }, 'thread'],
    ['messages', { thread: { type: 'create' } }, 'thread'],
    [
      'responses',
      { tools: [{ type: 'function', name: 'f' }, { tunnel_id: 'tunnel_1' }] },
      'tools[1].tunnel_id',
    ],
  ])('is refused: %s %j', async (kind, fields, param) => {
    const model = await modelOf(kind);
    const before = upstream.requests.length;
    for (const stream of [false, true]) {
      const { status, text } = await ask(PATHS[kind], asking(kind, model, { ...fields, stream }));
      expect([status, text]).toEqual([400, expect.stringContaining(param)]);
    }
    expect(upstream.requests).toHaveLength(before);
  });
});

describe('what is put into a conversation', () => {
  const put = (items: unknown[], path = '/v1/conversations') => ask(path, { items });

  test('names no file of the account, and nothing that is stored for others', async () => {
    const before = upstream.requests.length;
    const file = { role: 'user', content: [{ type: 'input_file', file_id: 'file-1' }] };
    expect(await put([file])).toMatchObject({
      status: 400,
      text: expect.stringContaining('items[0].content[0].file_id'),
    });
    for (const strange of [
      { type: 'item_reference', id: 'msg_1' },
      { ...CALL, container_id: 'cntr_native' },
    ])
      expect(await put([strange])).toMatchObject({ status: 404 });
    const tools = [{ type: 'web_search' }];
    expect(await put([{ type: 'additional_tools', role: 'developer', tools }])).toMatchObject({
      status: 400,
      text: expect.stringContaining('items[0].tools[0].type'),
    });
    const twice = await fetch(`${node.url}/v1/conversations`, {
      method: 'POST',
      headers: { authorization: `Bearer ${node.apiKey}` },
      body: `{"items":[],"items":[${JSON.stringify(file)}]}`,
    });
    expect(twice.status).toBe(400);
    expect(upstream.requests).toHaveLength(before);
  });

  test('keeps its own words, and its sealed ids become native', async () => {
    const [sealed] =
      (await ask('/v1/responses', asking('responses', conversing))).text.match(/cntr_tg[\w-]+/) ??
      [];
    const message = { type: 'message', role: 'user', content: 'remember file_id' };
    const made = await put([message, { ...NAMELESS, container_id: sealed }]);
    expect(made.status).toBe(200);
    expect(JSON.parse(upstream.requests.at(-1)?.body ?? '')).toEqual({
      items: [message, { ...NAMELESS, container_id: 'cntr_native' }],
    });
    const { id }: Loose = JSON.parse(made.text);
    expect((await put([message], `/v1/conversations/${id}/items`)).status).toBe(200);
    expect((await ask('/v1/conversations', {})).status).toBe(200);
  });
});
