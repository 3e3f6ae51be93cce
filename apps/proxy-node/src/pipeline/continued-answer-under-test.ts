import { afterAll, beforeAll } from '@jest/globals';
import type { ServerResponse } from 'node:http';
import type { UsageFinal } from '@tollgate/contracts';
import type { FailoverSettings, SnapshotModel } from '@tollgate/snapshot';
import { letPass, until } from '@tollgate/harness';
import { startLocalUpstream, type LocalUpstream } from '../testing/local-upstream.ts';
import { startNodeUnderTest, type NodeUnderTest } from '../testing/node-under-test.ts';

export type Dialect = 'openai' | 'anthropic';
export type Client = 'chat' | 'messages';
/** Holds the `words` of an answer, and how it ends: properly, by a reset, by an end without a finish, by an error event, or refused at once. */
export interface Script {
  words: readonly string[];
  end: 'well' | 'reset' | 'eof' | 'error' | '400' | '500' | 'waits';
  /** Is the text of the first answer: the words are said behind the anchor that the request asks for. */
  follows?: string;
  /** Is true for a model that refuses an answer's beginning as the last message. */
  isWithoutPrefill?: boolean;
  before?: 'tool' | 'thinking';
  /** Writes the stream in place of all that, behind the head, from the anchor that the request asks for. */
  raw?: (anchor: string) => string;
}

/** Providers report these tokens for a prompt, and for the longer prompt of a continuation too. */
export const PROMPT = 21;
export const REPORTED = 7;
export const PATHS = { chat: '/v1/chat/completions', messages: '/v1/messages' } as const;

export let node: NodeUnderTest;
export let upstreams: LocalUpstream[];
const scripts: Script[] = [];

export const data = (value: object): string => `data: ${JSON.stringify(value)}\n\n`;
export const named = (type: string, value: object): string =>
  `event: ${type}\n${data({ type, ...value })}`;
export const chunk = (delta: object, finish: string | null = null): string =>
  data({
    id: 'chatcmpl-of-upstream',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'real',
    choices: [{ index: 0, delta, finish_reason: finish }],
  });

export function opening(dialect: Dialect, { words, before }: Script): string {
  if (dialect === 'openai') {
    const call = { index: 0, id: 'c1', type: 'function', function: { name: 'f', arguments: '{' } };
    return [
      chunk({ role: 'assistant', content: '' }),
      ...(before === 'thinking' ? [chunk({ reasoning_content: 'hm' })] : []),
      ...words.map((content) => chunk({ content })),
      ...(before === 'tool' ? [chunk({ tool_calls: [call] })] : []),
    ].join('');
  }
  const usage = { input_tokens: PROMPT, output_tokens: 1 };
  const thinking = { type: 'thinking', thinking: 'hm', signature: '' };
  const text = before === 'thinking' ? 1 : 0;
  const message = {
    id: 'msg_of_upstream',
    type: 'message',
    role: 'assistant',
    model: 'real',
    content: [],
    usage,
  };
  const call = { type: 'tool_use', id: 'toolu_1', name: 'f', input: {} };
  return [
    named('message_start', { message }),
    ...(before === 'thinking'
      ? [
          named('content_block_start', { index: 0, content_block: thinking }),
          named('content_block_stop', { index: 0 }),
        ]
      : []),
    named('content_block_start', { index: text, content_block: { type: 'text', text: '' } }),
    ...words.map((word) =>
      named('content_block_delta', { index: text, delta: { type: 'text_delta', text: word } }),
    ),
    ...(before === 'tool'
      ? [
          named('content_block_stop', { index: text }),
          named('content_block_start', { index: text + 1, content_block: call }),
        ]
      : []),
  ].join('');
}

export function closing(dialect: Dialect): string {
  if (dialect === 'anthropic')
    return [
      named('content_block_stop', { index: 0 }),
      named('message_delta', {
        delta: { stop_reason: 'end_turn' },
        usage: { output_tokens: REPORTED },
      }),
      named('message_stop', {}),
    ].join('');
  const usage = {
    prompt_tokens: PROMPT,
    completion_tokens: REPORTED,
    total_tokens: PROMPT + REPORTED,
  };
  const last = {
    id: 'c',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'real',
    choices: [],
    usage,
  };
  return `${chunk({}, 'stop')}${data(last)}data: [DONE]\n\n`;
}

const REFUSED_PREFILL = {
  type: 'error',
  error: {
    type: 'invalid_request_error',
    message:
      'This model does not support assistant message prefill. The conversation must end with a user message.',
  },
};

function endsWithAnswer(body: string): boolean {
  const { messages } = JSON.parse(body) as { messages: { role: string }[] };
  return messages.at(-1)?.role === 'assistant';
}

const BEFORE_ANCHOR = 'do not mention the interruption.\n\n';

/** Returns the end of the first answer that a request has the second one begin with. Its instruction ends with that, without the spaces behind it. */
export function anchorIn(body: string, follows: string): string {
  const texts = [...body.matchAll(/"(?:text|content)":("(?:[^"\\]|\\.)*")/g)].map(
    ([, json = '""']) => JSON.parse(json) as string,
  );
  const asked = texts.findLast((text) => text.includes(BEFORE_ANCHOR));
  const at = follows.lastIndexOf(asked?.split(BEFORE_ANCHOR).at(-1) ?? '\0');
  if (at < 0) throw new Error('no anchor is asked for');
  return follows.slice(at);
}

function perform(
  response: ServerResponse,
  { script, body, dialect }: { script: Script; body: string; dialect: Dialect },
): void {
  if (script.isWithoutPrefill && endsWithAnswer(body))
    return void response.writeHead(400).end(JSON.stringify(REFUSED_PREFILL));
  if (script.end === '400' || script.end === '500')
    return void response.writeHead(Number(script.end)).end('{}');
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const { follows, words: rest, raw } = script;
  if (raw) return void response.end(raw(follows === undefined ? '' : anchorIn(body, follows)));
  const words = follows === undefined ? rest : [anchorIn(body, follows), ...rest];
  const error = { type: 'error', error: { type: 'api_error', message: 'it fell over' } };
  const text = opening(dialect, { ...script, words });
  switch (script.end) {
    case 'well':
      return void response.end(text + closing(dialect));
    case 'eof':
      return void response.end(text);
    case 'error':
      return void response.end(text + (dialect === 'openai' ? data(error) : named('error', error)));
    case 'waits':
      return void response.write(text);
    case 'reset':
      return void response.write(text, () =>
        letPass(30, 'the bytes before the reset must have left, or they are lost with it').then(
          () => response.destroy(),
        ),
      );
  }
}

export interface Seen {
  text: string;
  stream: string;
  final: UsageFinal;
}

const TEXTS = {
  chat: /"content":("(?:[^"\\]|\\.)*")/g,
  messages: /"type":"text_delta","text":("(?:[^"\\]|\\.)*")/g,
};

export async function ask(client: Client, model: SnapshotModel, more: object = {}): Promise<Seen> {
  const response = await node.post(PATHS[client], {
    model: model.name,
    stream: true,
    max_tokens: 500,
    messages: [{ role: 'user', content: 'tell me a story' }],
    ...more,
  });
  const stream = await response.text();
  const said = [...stream.matchAll(TEXTS[client])].map(
    ([, json = '""']) => JSON.parse(json) as string,
  );
  const final = (await node.journalledFinal(response.headers.get('request-id'))) as UsageFinal;
  return { text: said.join(''), stream, final };
}

export function modelWith(
  dialects: readonly Dialect[],
  failover: FailoverSettings = { continues: true },
  upstreamModel: string | readonly string[] = [],
): Promise<SnapshotModel> {
  return node.addModel(
    dialects.map((protocol, priority) => {
      const name = typeof upstreamModel === 'string' ? upstreamModel : upstreamModel[priority];
      return {
        baseUrl: upstreams[priority]?.baseUrl ?? '',
        protocol,
        priority,
        ...(name !== undefined && { upstreamModel: name }),
      };
    }),
    { failover },
  );
}

export function script(first: Script, ...others: Script[]): void {
  scripts.splice(0, scripts.length, first, ...others);
}

export const FIRST = ['Once ', 'upon ', 'a '];
export const SECOND = ['time ', 'there ', 'was ', 'a gate.'];
export const cut = (end: Script['end']): Script => ({ words: FIRST, end });
export const well: Script = { words: SECOND, end: 'well', follows: FIRST.join('') };

export async function finalOf(rid: string | null): Promise<UsageFinal> {
  return until(
    `a final of ${rid} in the journal`,
    async () => (await node.journalledFinal(rid).catch(() => null)) as UsageFinal | null,
  );
}

/** Starts a node, and upstreams that follow their scripts; the spec calls it. */
export function shareNode(environment: Record<string, string> = {}): void {
  beforeAll(async () => {
    node = await startNodeUnderTest(environment);
    upstreams = await Promise.all(
      [0, 1, 2].map((place) =>
        startLocalUpstream((response, body, { url = '' }) =>
          perform(response, {
            script: scripts[place] as Script,
            body,
            dialect: url.endsWith('/messages') ? 'anthropic' : 'openai',
          }),
        ),
      ),
    );
  });
  afterAll(async () => {
    await node?.stop();
    await Promise.all((upstreams ?? []).map((upstream) => upstream.close()));
  });
}
