import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { ServerResponse } from 'node:http';
import type { UsageFinal } from '@tollgate/contracts';
import { countTokens } from '@tollgate/metering/token-counter';
import type { FailoverSettings, SnapshotModel } from '@tollgate/snapshot';
import fc from 'fast-check';
import { startLocalUpstream, type LocalUpstream } from '../testing/local-upstream.ts';
import { startNodeUnderTest, type NodeUnderTest } from '../testing/node-under-test.ts';

type Dialect = 'openai' | 'anthropic';
type Client = 'chat' | 'messages';
/** `words` of an answer, and how it ends: properly, by a reset, by an end without a finish, by an error event, or refused at once. */
interface Script {
  words: readonly string[];
  end: 'well' | 'reset' | 'eof' | 'error' | '500' | 'waits';
  before?: 'tool' | 'thinking';
}

/** What a provider reports of a prompt; of the continuation's longer one, too. */
const PROMPT = 21;
const REPORTED = 7;
const PATHS = { chat: '/v1/chat/completions', messages: '/v1/messages' } as const;

let node: NodeUnderTest;
let upstreams: LocalUpstream[];
const scripts: Script[] = [];

beforeAll(async () => {
  node = await startNodeUnderTest();
  upstreams = await Promise.all(
    [0, 1, 2].map((place) =>
      startLocalUpstream((response, _body, { url = '' }) =>
        perform(
          response,
          scripts[place] as Script,
          url.endsWith('/messages') ? 'anthropic' : 'openai',
        ),
      ),
    ),
  );
});
afterAll(async () => {
  await node?.stop();
  await Promise.all((upstreams ?? []).map((upstream) => upstream.close()));
});

const data = (value: object): string => `data: ${JSON.stringify(value)}\n\n`;
const named = (type: string, value: object): string =>
  `event: ${type}\n${data({ type, ...value })}`;
const chunk = (delta: object, finish: string | null = null): string =>
  data({
    id: 'chatcmpl-of-upstream',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'real',
    choices: [{ index: 0, delta, finish_reason: finish }],
  });

function opening(dialect: Dialect, { words, before }: Script): string {
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

function closing(dialect: Dialect): string {
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

function perform(response: ServerResponse, script: Script, dialect: Dialect): void {
  if (script.end === '500') return void response.writeHead(500).end('{}');
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const error = { type: 'error', error: { type: 'api_error', message: 'it fell over' } };
  const text = opening(dialect, script);
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
      // The bytes before the reset must have left, or they would be lost with it.
      return void response.write(text, () => setTimeout(() => response.destroy(), 30));
  }
}

interface Seen {
  text: string;
  stream: string;
  final: UsageFinal;
}

const TEXTS = {
  chat: /"content":("(?:[^"\\]|\\.)*")/g,
  messages: /"type":"text_delta","text":("(?:[^"\\]|\\.)*")/g,
};

async function ask(client: Client, model: SnapshotModel, more: object = {}): Promise<Seen> {
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

function modelWith(
  dialects: readonly Dialect[],
  failover: FailoverSettings = { continues: true },
): Promise<SnapshotModel> {
  return node.addModel(
    dialects.map((protocol, priority) => ({
      baseUrl: upstreams[priority]?.baseUrl ?? '',
      protocol,
      priority,
    })),
    { failover },
  );
}

function script(first: Script, ...others: Script[]): void {
  scripts.splice(0, scripts.length, first, ...others);
}

const FIRST = ['Once ', 'upon ', 'a '];
const SECOND = ['time ', 'there ', 'was ', 'a gate.'];
const cut = (end: Script['end']): Script => ({ words: FIRST, end });
const well: Script = { words: SECOND, end: 'well' };

describe.each<[Client, Dialect, Dialect]>([
  ['chat', 'openai', 'openai'],
  ['chat', 'openai', 'anthropic'],
  ['chat', 'anthropic', 'openai'],
  ['messages', 'anthropic', 'anthropic'],
  ['messages', 'anthropic', 'openai'],
  ['messages', 'openai', 'anthropic'],
])('a %s stream of an upstream of protocol %s that breaks off', (client, one, other) => {
  test.each(['reset', 'eof', 'error'] as const)(
    `(%s) is continued by one of protocol ${other}, and charged as one answer`,
    async (end) => {
      const model = await modelWith([one, other]);
      script(cut(end), well);
      const { text, stream, final } = await ask(client, model);
      expect(text).toBe([...FIRST, ...SECOND].join(''));
      expect(stream.split('"role":"assistant"')).toHaveLength(2);
      expect(stream).not.toContain('"error"');
      expect(stream).toContain('\n: the answer is continued by another upstream\n');
      expect(final).toMatchObject({
        outcome: 'completed',
        output_tokens: countTokens(FIRST.join('')) + REPORTED,
        attempts: [
          { error: 'cut', status: 200 },
          { status: 200, cost: { input_tokens: PROMPT, output_tokens: 0 } },
        ],
      });
      expect(final.attempts[0]).not.toHaveProperty('cost');
      expect(final.upstream_id).toBe(final.attempts[1]?.upstream_id);
    },
  );
});

test('the charge is the prompt once, what was delivered and what was continued, wherever the stream breaks off', async () => {
  const words = fc.array(fc.constantFrom('stone ', 'wall', ', a ', 'été ', '門 ', '\n'), {
    minLength: 1,
    maxLength: 30,
  });
  await fc.assert(
    fc.asyncProperty(words, async (before) => {
      // Of their own for each run: routes that break off again and again rest.
      const model = await modelWith(['anthropic', 'openai']);
      const alone = await modelWith(['anthropic'], {});
      script({ words: before, end: 'eof' }, well);
      const { text, final } = await ask('messages', model);
      expect(text).toBe([...before, ...SECOND].join(''));
      const broken = (await ask('messages', alone)).final;
      expect(broken.outcome).toBe('upstream_interrupted');
      expect(final.input_tokens).toBe(broken.input_tokens);
      expect(final.output_tokens).toBe(broken.output_tokens + REPORTED);
      expect(final.charge).toBe(broken.charge + REPORTED);
    }),
    { numRuns: 8 },
  );
});

test('the request for the rest has the text that was delivered, and what is left of the limit', async () => {
  const model = await modelWith(['openai', 'openai']);
  script(cut('eof'), well);
  await ask('chat', model);
  const sent = JSON.parse(upstreams[1]?.requests.at(-1)?.body ?? '{}') as {
    max_tokens: number;
    messages: { role: string; content: string }[];
  };
  expect(sent.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user']);
  expect(sent.messages[1]?.content).toBe(FIRST.join(''));
  expect(sent.max_tokens).toBe(500 - countTokens(FIRST.join('')));
});

test('an answer names its upstream where the model allows it, and else does not', async () => {
  const headerOf = async (failover: FailoverSettings): Promise<string | null> => {
    const { name } = await modelWith(['openai'], failover);
    script(well);
    const messages = [{ role: 'user', content: 'hi' }];
    const { headers } = await node.post(PATHS.chat, { model: name, messages, stream: true });
    return headers.get('x-tollgate-upstream');
  };
  expect(await headerOf({ names_upstream: true })).toMatch(/^upstream-\d+$/);
  expect(await headerOf({})).toBeNull();
});

test('an answer may break off twice and be continued by a third upstream', async () => {
  const model = await modelWith(['openai', 'anthropic', 'openai']);
  script(cut('eof'), { words: ['time '], end: 'error' }, { words: ['there was.'], end: 'well' });
  const { text, stream, final } = await ask('chat', model);
  expect(text).toBe('Once upon a time there was.');
  expect(stream.split('"finish_reason":"stop"')).toHaveLength(2);
  expect(final.attempts.map(({ error }) => error)).toEqual(['cut', 'cut', undefined]);
  const prompts = final.attempts.map(({ cost }) => cost?.output_tokens);
  expect(prompts).toEqual([undefined, 0, 0]);
  const delivered = countTokens(FIRST.join('')) + countTokens('time ');
  expect(final.output_tokens).toBe(delivered + REPORTED);
});

describe.each<Client>(['chat', 'messages'])(
  'a %s stream ends with an error, charged for what was delivered',
  (client) => {
    const own: Dialect = client === 'chat' ? 'openai' : 'anthropic';
    const expectBroken = (
      { text, stream, final }: Seen,
      words: readonly string[] = FIRST,
    ): void => {
      expect(text).toBe(words.join(''));
      expect(stream).toContain('"error"');
      expect(stream).not.toContain('[DONE]');
      expect(stream).not.toContain('message_stop');
      expect(final).toMatchObject({
        outcome: 'upstream_interrupted',
        output_tokens: countTokens(words.join('')),
      });
    };

    test.each(['reset', 'eof', 'error'] as const)(
      '(%s) when no other upstream continues it',
      async (end) => {
        const failing = await modelWith([own, own]);
        script(cut(end), { words: [], end: '500' });
        const seen = await ask(client, failing);
        expectBroken(seen);
        expect(seen.final.attempts).toMatchObject([{ error: 'cut' }, { error: 'server' }]);
        script(cut(end));
        expectBroken(await ask(client, await modelWith([own])));
      },
    );

    test('when the model does not allow a continuation, which is the default', async () => {
      const model = await modelWith([own, own], {});
      script(cut('eof'), well);
      expectBroken(await ask(client, model));
    });

    test.each<[string, Pick<Script, 'before'>, object]>([
      ['in a tool call', { before: 'tool' }, {}],
      ['after thinking', { before: 'thinking' }, {}],
      [
        'of structured output',
        {},
        client === 'chat'
          ? { response_format: { type: 'json_object' } }
          : { output_config: { format: { type: 'json_schema', schema: { type: 'object' } } } },
      ],
    ])('%s', async (_what, before, more) => {
      const model = await modelWith([own, own]);
      script({ ...cut('eof'), ...before }, well);
      const asked = upstreams[1]?.requests.length;
      const { text, stream, final } = await ask(client, model, more);
      expect(text).toBe(FIRST.join(''));
      expect(stream).toContain('"error"');
      expect(final.outcome).toBe('upstream_interrupted');
      expect(upstreams[1]?.requests.length).toBe(asked);
    });
  },
);

test('a client that leaves while the rest is asked for pays what it had', async () => {
  const model = await modelWith(['openai', 'openai']);
  script(cut('eof'), { words: [], end: 'waits' });
  const response = await node.post(PATHS.chat, {
    model: model.name,
    stream: true,
    messages: [{ role: 'user', content: 'tell me a story' }],
  });
  const reader = response.body?.getReader();
  const asked = upstreams[1]?.requests.length ?? 0;
  await reader?.read();
  while (upstreams[1]?.requests.length === asked)
    await new Promise((resolve) => setTimeout(resolve, 5));
  await reader?.cancel();
  await upstreams[1]?.aborted;
  const rid = response.headers.get('request-id');
  const final = await finalOf(rid);
  expect(final.outcome).toBe('client_closed');
  expect(final.output_tokens).toBe(countTokens(FIRST.join('')));
});

async function finalOf(rid: string | null): Promise<UsageFinal> {
  for (;;) {
    const final = await node.journalledFinal(rid).catch(() => null);
    if (final) return final as UsageFinal;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
