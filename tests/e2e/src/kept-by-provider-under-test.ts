import { afterAll, beforeAll } from '@jest/globals';
import {
  startLocalUpstream,
  type LocalUpstream,
} from '../../../apps/proxy-node/src/testing/local-upstream.ts';
import {
  startNodeUnderTest,
  type NodeUnderTest,
} from '../../../apps/proxy-node/src/testing/node-under-test.ts';

/** Providers keep containers, sound and files for their account besides responses, and every customer of the installation shares that account. */
type SnapshotModel = Awaited<ReturnType<NodeUnderTest['addModel']>>;

const CONTAINERS = ['cntr_native', 'container_native'];
const SOUND = 'audio_native';

export let node: NodeUnderTest;
export let stranger: string;
export let upstream: LocalUpstream;
export let other: LocalUpstream;
/** Its upstream is where the account's conversations are. */
export let conversing: SnapshotModel;

export const CALL = {
  id: 'ci_1',
  type: 'code_interpreter_call',
  status: 'completed',
  code: '1',
  container_id: CONTAINERS[0],
};
const { id: _, ...nameless } = CALL;
export const NAMELESS = nameless;
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
export const WHOLE: Record<string, object> = {
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
export const EVENTS: Record<string, object[]> = {
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

export type Kind = 'responses' | 'messages' | 'chat';
export const PATHS: Record<Kind, string> = {
  responses: '/v1/responses',
  messages: '/v1/messages',
  chat: '/v1/chat/completions',
};

/** Answers as the provider of each protocol does, and has conversations. */
function startProvider(): Promise<LocalUpstream> {
  return startLocalUpstream((reply, text, { url = '' }) => {
    const [kind] = Object.entries(PATHS).find(([, path]) => url === path) ?? [];
    const body = JSON.parse(text || '{}') as { stream?: boolean };
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

/** Makes a model of the first provider alone, or of both. */
export function modelOf(
  kind: Kind,
  { onBoth = false, passes = false } = {},
): Promise<SnapshotModel> {
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

export async function ask(
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

export function asking(kind: Kind, model: SnapshotModel, fields: object = {}): object {
  const words = [{ role: 'user', content: 'hi' }];
  if (kind === 'responses') return { model: model.name, input: words, ...fields };
  return { model: model.name, max_tokens: 50, messages: words, ...fields };
}

/** Lists how a request of each protocol names the objects that an earlier answer left. */
export const NAMED: [Kind, string, (id: string) => object][] = [
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

export const nativeOf = (kind: Kind): string =>
  ({ responses: 'cntr_native', messages: 'container_native', chat: SOUND })[kind];
export const SEALED = /(?:cntr|container|audio)_tg[\w-]{40,}/g;

/** Starts a node, and two upstreams of one provider; the spec calls it. */
export function shareNode(): void {
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
}
