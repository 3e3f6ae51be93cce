import Anthropic from '@anthropic-ai/sdk';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createCustomer, subscribeWithKey } from '@tollgate/harness';
import OpenAI from 'openai';
import { looseJson, textEvents, type Loose } from '../event-text.ts';
import { startGateway, type Gateway } from '../gateway.ts';
import { usageRows } from '../usage-rows.ts';
import { ScriptedUpstream } from './scripted-upstream.ts';

const TIMEOUT_MS = 240_000;
const KEEP_ALIVE_MS = 300;

let gateway: Gateway;
let chat: ScriptedUpstream;
let messages: ScriptedUpstream;
/** Models behind either upstream. */
let chatModel: { id: number; name: string };
let claude: { id: number; name: string };
let embedding: { id: number; name: string };
/** On a route of its own, which rests once its key is refused. */
let refused: { id: number; name: string };

beforeAll(async () => {
  [chat, messages] = await Promise.all([ScriptedUpstream.start(), ScriptedUpstream.start()]);
  gateway = await startGateway({ KEEP_ALIVE_MS: String(KEEP_ALIVE_MS) });
  const models = await gateway.addModels([
    { url: chat.url, protocol: 'openai' },
    { url: messages.url, protocol: 'anthropic' },
    { url: chat.url, protocol: 'openai', kind: 'embedding' },
    { url: chat.url, protocol: 'openai' },
  ]);
  [chatModel, claude, embedding, refused] = models as [
    typeof chatModel,
    typeof claude,
    typeof embedding,
    typeof refused,
  ];
}, TIMEOUT_MS);
afterAll(async () => {
  await gateway?.stop();
  await Promise.all([chat?.close(), messages?.close()]);
}, TIMEOUT_MS);

const openai = (apiKey = gateway.apiKey): OpenAI =>
  new OpenAI({ baseURL: `${gateway.nodeUrl}/v1`, apiKey, maxRetries: 1 });
const anthropic = (apiKey = gateway.apiKey): Anthropic =>
  new Anthropic({ baseURL: gateway.nodeUrl, apiKey, maxRetries: 1 });
const post = (
  path: string,
  body: object | string,
  headers: Record<string, string> = {},
): Promise<Response> =>
  fetch(`${gateway.nodeUrl}${path}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${gateway.apiKey}`,
      'content-type': 'application/json',
      ...headers,
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
const HI: { role: 'user'; content: string }[] = [{ role: 'user', content: 'hi' }];

const USAGE = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
const completion = {
  id: 'c',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'hello' }, finish_reason: 'stop' }],
  usage: USAGE,
};
const message = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content: [{ type: 'text', text: 'hello' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 10, output_tokens: 5 },
};
const data = (value: object): string => `data: ${JSON.stringify(value)}\n\n`;
const chunk = (delta: object, finish: string | null = null, more: object = {}): string =>
  data({
    id: 'c',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [{ index: 0, delta, finish_reason: finish }],
    ...more,
  });
const END = `${data({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [], usage: USAGE })}data: [DONE]\n\n`;
const named = (...events: ({ type: string } & Record<string, unknown>)[]): string =>
  events.map((event) => `event: ${event.type}\n${data(event)}`).join('');
const start = (usage: object): { type: string; message: object } => ({
  type: 'message_start',
  message: { ...message, content: [], stop_reason: null, usage },
});
const block = (index: number, content_block: object, ...deltas: object[]): { type: string }[] =>
  [
    { type: 'content_block_start', index, content_block },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ] as { type: string }[];
const stop = (stop_reason: string, usage: object): { type: string }[] => [
  { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage } as { type: string },
  { type: 'message_stop' },
];

describe('who asks, and how', () => {
  test('behaviours 1, 32, 33: both SDKs and both key headers reach every endpoint, with ?beta=true', async () => {
    chat.says(completion);
    messages.says(message);
    await openai().chat.completions.create({ model: chatModel.name, messages: HI });
    await anthropic().messages.create({ model: claude.name, max_tokens: 9, messages: HI });
    expect((await openai().models.list()).data.map(({ id }) => id)).toContain(claude.name);
    expect((await anthropic().models.list()).data.map(({ id }) => id)).toContain(chatModel.name);
    const counts = await Promise.all(
      Array.from({ length: 25 }, () =>
        anthropic().messages.countTokens({ model: claude.name, messages: HI }),
      ),
    );
    expect(new Set(counts.map(({ input_tokens }) => input_tokens)).size).toBe(1);
    for (const keys of [
      { authorization: '', 'x-api-key': gateway.apiKey },
      { authorization: 'Bearer wrong', 'x-api-key': gateway.apiKey },
      { 'x-api-key': 'wrong' },
    ]) {
      expect(
        (
          await post(
            '/v1/messages?beta=true',
            { model: claude.name, max_tokens: 9, messages: HI },
            keys,
          )
        ).status,
      ).toBe(200);
    }
  });

  test('behaviour 2: both anthropic versions go up as they came, and so do betas', async () => {
    messages.says(message);
    for (const version of ['2026-10-21', '2023-06-01']) {
      await post(
        '/v1/messages',
        { model: claude.name, max_tokens: 9, messages: HI },
        { 'anthropic-version': version, 'anthropic-beta': 'a-1,b-2' },
      );
      expect([
        messages.last.headers['anthropic-version'],
        messages.last.headers['anthropic-beta'],
      ]).toEqual([version, 'a-1,b-2']);
    }
  });

  test("behaviour 3: answers, streams and errors carry both request ids, and an error's is theirs", async () => {
    chat.streams(chunk({ role: 'assistant', content: 'x' }) + chunk({}, 'stop') + END);
    const answers = [
      await post('/v1/chat/completions', { model: chatModel.name, stream: true, messages: HI }),
      await post('/v1/messages', { model: 'none', max_tokens: 1, messages: HI }),
      await post('/v1/chat/completions', { model: chatModel.name }),
    ];
    for (const { headers } of answers)
      expect([headers.get('x-request-id'), headers.get('request-id')]).toEqual([
        expect.stringMatching(/^[0-9a-f-]{36}$/),
        headers.get('x-request-id'),
      ]);
    expect(looseJson((await answers[1]?.text()) ?? '').request_id).toBe(
      answers[1]?.headers.get('request-id'),
    );
  });
});

describe('what goes up', () => {
  test('behaviours 4, 5: a system message in the middle reaches a chat upstream, the billing header does not', async () => {
    chat.says(completion);
    const system: Loose = [
      { type: 'text', text: 'x-anthropic-billing-header: cc_version=2.1.329.abc;' },
      { type: 'text', text: 'Be brief.' },
    ];
    const turns: Loose = [
      { role: 'user', content: 'hi' },
      {
        role: 'system',
        content: [{ type: 'text', text: 'Speak French.', cache_control: { type: 'ephemeral' } }],
        output_config: { effort: 'low' },
      },
    ];
    await anthropic().messages.create({
      model: chatModel.name,
      max_tokens: 9,
      system,
      messages: turns,
    });
    expect(chat.last.body).toContain('Speak French.');
    expect(chat.last.body).toContain('Be brief.');
    expect(chat.last.body).not.toContain('billing-header');
  });

  test('behaviours 5, 6, 7, 29: a messages body reaches Anthropic byte for byte but the model value, unsigned thinking cut out', async () => {
    messages.says(message);
    const body = (model: string, unsigned: string): string =>
      `{"max_tokens":50, "big":9007199254740993,"model":"${model}","system":[{"type":"text","text":"x-anthropic-billing-header: cc=1;"}],"messages":[{"role":"user","content":"\\u00e4"},{"role":"assistant","content":[${unsigned}{"type":"thinking","thinking":"hm","signature":"EqQB+/=="},{"type":"tool_use","id":"toolu_1","name":"f","input":{"z":1.0,"a":2}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"ok"},{"type":"future_block","x":1}]}],"future_field":{"y":null}}`;
    expect((await post('/v1/messages', body(claude.name, ''))).status).toBe(200);
    expect(messages.last.body).toBe(body('as-recorded', ''));
    await post(
      '/v1/messages',
      body(claude.name, '{"type":"thinking","thinking":"foreign","signature":""},'),
    );
    expect(messages.last.body).toBe(body('as-recorded', ''));
  });

  test("behaviour 28: a chat upstream's odd tool ids come back to it in the next turn, results merged in any order", async () => {
    const ids = ['call_AbC|weird:id.1', `x${'y'.repeat(80)}`];
    chat.says({
      ...completion,
      choices: [
        {
          index: 0,
          message: {
            role: 'assistant',
            content: null,
            tool_calls: ids.map((id, at) => ({
              id,
              type: 'function',
              function: { name: `f${at}`, arguments: '{}' },
            })),
          },
          finish_reason: 'tool_calls',
        },
      ],
    });
    const tools: Loose = [0, 1].map((at) => ({
      name: `f${at}`,
      input_schema: { type: 'object', properties: {} },
    }));
    const first = await anthropic().messages.create({
      model: chatModel.name,
      max_tokens: 9,
      tools,
      messages: HI,
    });
    const uses = first.content.flatMap((item) => (item.type === 'tool_use' ? [item] : []));
    for (const { id } of uses) expect(id).toMatch(/^[a-zA-Z0-9_-]+$/);
    chat.says(completion);
    const results = uses.toReversed().map(({ id }): Loose => ({
      type: 'tool_result',
      tool_use_id: id,
      content: [
        { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aGk=' } },
      ],
    }));
    await anthropic().messages.create({
      model: chatModel.name,
      max_tokens: 9,
      tools,
      messages: [
        ...HI,
        { role: 'assistant', content: first.content },
        { role: 'user', content: results },
      ],
    });
    const sent: Loose[] = looseJson(chat.last.body).messages;
    expect(
      sent.find(({ role }) => role === 'assistant').tool_calls.map(({ id }: Loose) => id),
    ).toEqual(ids);
    expect(
      sent
        .filter(({ role }) => role === 'tool')
        .map(({ tool_call_id }) => tool_call_id)
        .toSorted(),
    ).toEqual(ids.toSorted());
    expect(JSON.stringify(sent.at(-1))).toContain('data:image/png;base64,aGk=');
  });

  test('behaviour 31: embeddings of token arrays, in base64 as the SDK asks and in floats as some reply', async () => {
    const floats = [0.5, -1.25];
    const base64 = Buffer.from(new Float32Array(floats).buffer).toString('base64');
    for (const reply of [base64, floats]) {
      chat.says({
        object: 'list',
        model: 'm',
        data: [{ object: 'embedding', index: 0, embedding: reply }],
        usage: { prompt_tokens: 3, total_tokens: 3 },
      });
      const { data: vectors } = await openai().embeddings.create({
        model: embedding.name,
        input: [1, 2, 3],
      });
      expect(vectors[0]?.embedding).toEqual(floats);
      expect(looseJson(chat.last.body)).toMatchObject({
        input: [1, 2, 3],
        encoding_format: 'base64',
      });
    }
  });
});

describe('what comes down', () => {
  const tool = (index: number, args: string, first: object = {}): string =>
    chunk({
      tool_calls: [
        {
          index,
          ...first,
          function: {
            ...(Object.keys(first).length > 0 ? { name: `f${index}` } : {}),
            arguments: args,
          },
        },
      ],
    });
  const opening = (index: number): object => ({ id: `call_${index}`, type: 'function' });

  test('behaviours 15, 16, 17, 18, 19, 21: the Anthropic SDK assembles thinking, text and five interleaved tools of a chat upstream', async () => {
    const parallel =
      [0, 1, 2, 3].map((at) => tool(at, '', opening(at))).join('') +
      [3, 1, 0, 2]
        .map((at) => tool(at, `{"n":`) + tool((at + 1) % 4, '') + tool(at, `${at}}`))
        .join('');
    chat.streams(
      chunk({ role: 'assistant', content: '', reasoning_content: 'let me' }) +
        chunk({ reasoning_content: ' think' }) +
        chunk({ content: 'So' }) +
        parallel +
        tool(4, '', opening(4)) +
        chunk({}, 'stop') +
        END,
    );
    const tools: Loose = [0, 1, 2, 3, 4].map((at) => ({
      name: `f${at}`,
      input_schema: { type: 'object' },
    }));
    const answer = await anthropic()
      .messages.stream({ model: chatModel.name, max_tokens: 99, tools, messages: HI })
      .finalMessage();
    expect(answer.content).toEqual([
      expect.objectContaining({ type: 'thinking', thinking: 'let me think' }),
      expect.objectContaining({ type: 'text', text: 'So' }),
      ...[0, 1, 2, 3, 4].map((at) =>
        expect.objectContaining({
          type: 'tool_use',
          name: `f${at}`,
          input: at === 4 ? {} : { n: at },
        }),
      ),
    ]);
    expect([answer.stop_reason, answer.usage.input_tokens, answer.usage.output_tokens]).toEqual([
      'tool_use',
      10,
      5,
    ]);
    const events = textEvents(
      await (
        await post('/v1/messages', {
          model: chatModel.name,
          max_tokens: 99,
          stream: true,
          messages: HI,
        })
      ).text(),
    );
    const bodies: Loose[] = events.map((event) => looseJson(event.data));
    expect(events.map(({ name }) => name)).toEqual(bodies.map(({ type }) => type));
    expect([
      bodies[0].message.usage.output_tokens,
      bodies.at(-2).usage.output_tokens,
      bodies.at(-1).type,
    ]).toEqual([0, 5, 'message_stop']);
  });

  test("behaviours 20, 21, 22: the OpenAI SDK's own helper assembles a message with two tools among other blocks", async () => {
    const input = (json: string): object => ({ type: 'input_json_delta', partial_json: json });
    const use = (id: string): object => ({ type: 'tool_use', id, name: 'f', input: {} });
    messages.streams(
      named(
        start({ input_tokens: 10, output_tokens: 1 }),
        ...block(0, { type: 'text', text: '' }, { type: 'text_delta', text: 'So' }),
        ...block(1, use('toolu_1'), input('{"a"'), input(':1}')),
        ...block(2, use('toolu_2')),
        ...stop('tool_use', { output_tokens: 5 }),
      ),
    );
    const stream = openai().chat.completions.stream({ model: claude.name, messages: HI });
    const chunks: Loose[] = [];
    stream.on('chunk', (piece) => chunks.push(piece));
    const [choice] = (await stream.finalChatCompletion()).choices;
    expect(choice?.finish_reason).toBe('tool_calls');
    expect(
      choice?.message.tool_calls?.map((call: Loose) => [call.id, call.function.arguments]),
    ).toEqual([
      ['toolu_1', '{"a":1}'],
      ['toolu_2', '{}'],
    ]);
    const deltas = chunks.flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? []);
    expect(deltas.map(({ index, id, type }: Loose) => [index, id, type])).toEqual([
      [0, 'toolu_1', 'function'],
      [0, undefined, undefined],
      [0, undefined, undefined],
      [1, 'toolu_2', 'function'],
      [1, undefined, undefined],
    ]);
    expect(chunks[0].choices[0].delta.role).toBe('assistant');
    expect(new Set(chunks.map(({ id, created, model }) => `${id} ${created} ${model}`)).size).toBe(
      1,
    );
    expect(chunks[0].model).toBe(claude.name);
  });

  test('behaviours 8, 9, 10: usage repeated in every chunk is shown once or not at all, and booked once', async () => {
    const upstream =
      chunk({ role: 'assistant', content: 'a' }, null, {
        usage: { prompt_tokens: 10, completion_tokens: 1, total_tokens: 11 },
      }) +
      chunk({ content: 'b' }, 'stop', { usage: USAGE }) +
      'data: [DONE]\n\n';
    for (const include_usage of [false, true]) {
      chat.streams(upstream);
      const response = await post('/v1/chat/completions', {
        model: chatModel.name,
        stream: true,
        ...(include_usage ? { stream_options: { include_usage } } : {}),
        messages: HI,
      });
      const events = textEvents(await response.text());
      const shown = events
        .map((event) => looseJson(event.data))
        .flatMap((value, at) =>
          value?.usage ? [[at, value.choices, value.usage.completion_tokens]] : [],
        );
      expect(shown).toEqual(include_usage ? [[events.length - 2, [], 5]] : []);
      const rid = response.headers.get('x-request-id') ?? '';
      expect((await usageRows(gateway.tollgate.databaseUrl, [rid])).get(rid)).toMatchObject({
        input_tokens: 10,
        output_tokens: 5,
        basis: 'reported',
      });
    }
  });

  test("behaviours 11, 12: the last message_delta's figures reach a chat client, caches inside its prompt", async () => {
    messages.streams(
      named(
        start({ input_tokens: 4, cache_creation_input_tokens: 0, output_tokens: 1 }),
        ...block(0, { type: 'text', text: '' }, { type: 'text_delta', text: 'x' }),
        ...stop('end_turn', {
          input_tokens: 30,
          cache_read_input_tokens: 20,
          cache_creation_input_tokens: 10,
          output_tokens: 5,
        }),
      ),
    );
    const answer = await openai()
      .chat.completions.stream({
        model: claude.name,
        stream_options: { include_usage: true },
        messages: HI,
      })
      .finalChatCompletion();
    expect(answer.usage).toMatchObject({
      prompt_tokens: 60,
      completion_tokens: 5,
      total_tokens: 65,
      prompt_tokens_details: { cached_tokens: 20, cache_write_tokens: 10 },
    });
  });

  test('behaviour 23: a silent upstream is bridged by comments on chat and pings on messages, which the SDKs survive', async () => {
    const late =
      (text: string) =>
      (response: Loose): void =>
        void setTimeout(
          () => response.writeHead(200, { 'content-type': 'text/event-stream' }).end(text),
          KEEP_ALIVE_MS * 3,
        );
    chat.answers(late(chunk({ role: 'assistant', content: 'late' }) + chunk({}, 'stop') + END));
    const raw = post('/v1/chat/completions', {
      model: chatModel.name,
      stream: true,
      messages: HI,
    }).then((response) => response.text());
    const [text, chats, claudes] = await Promise.all([
      raw,
      openai().chat.completions.stream({ model: chatModel.name, messages: HI }).finalContent(),
      anthropic()
        .messages.stream({ model: chatModel.name, max_tokens: 9, messages: HI })
        .finalText(),
    ]);
    expect([text.slice(0, 2), chats, claudes]).toEqual([': ', 'late', 'late']);
    const pinged = await (
      await post('/v1/messages', {
        model: chatModel.name,
        max_tokens: 9,
        stream: true,
        messages: HI,
      })
    ).text();
    expect(pinged.startsWith('event: ping\ndata: {"type":"ping"}\n\n')).toBe(true);
  });
});

describe('what goes wrong', () => {
  test('behaviour 26: an upstream that refuses the gateway is a gateway error, and its names stay with the operator', async () => {
    chat.says(
      {
        error: {
          message: 'Incorrect API key provided: sk-of-the-operator-0123456789',
          type: 'invalid_request_error',
          code: 'invalid_api_key',
        },
      },
      401,
      {
        'openai-organization': 'org-secret',
        'x-request-id': 'req_upstream',
        'x-ratelimit-limit-requests': '7',
      },
    );
    const errorOf = (request: OpenAI.RequestOptions): Promise<Loose> =>
      openai()
        .chat.completions.create({ model: refused.name, messages: HI }, request)
        .then(
          () => null,
          (reason: Loose) => reason,
        );
    const first = await errorOf({ maxRetries: 0 });
    const whileItRests = await errorOf({ maxRetries: 0 });
    expect([first.status, whileItRests.status, chat.count]).toEqual([502, 503, 1]);
    for (const { error, headers } of [first, whileItRests])
      expect(JSON.stringify([error, [...headers]])).not.toMatch(
        /sk-of|org-secret|req_upstream|"7"/,
      );
  });

  test("behaviour 26: context overflow is worded for each protocol's clients", async () => {
    chat.says(
      {
        error: {
          message:
            "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
          type: 'invalid_request_error',
          code: 'context_length_exceeded',
        },
      },
      400,
    );
    await expect(
      anthropic().messages.create({ model: chatModel.name, max_tokens: 9, messages: HI }),
    ).rejects.toMatchObject({
      status: 400,
      error: {
        error: {
          type: 'invalid_request_error',
          message: 'prompt is too long: 9000 tokens > 8192 maximum',
        },
      },
    });
    messages.says(
      {
        type: 'error',
        error: {
          type: 'invalid_request_error',
          message: 'prompt is too long: 9000 tokens > 8192 maximum',
        },
      },
      400,
    );
    await expect(
      openai().chat.completions.create({ model: claude.name, messages: HI }),
    ).rejects.toMatchObject({ status: 400, code: 'context_length_exceeded' });
  });

  test('behaviour 27: the SDKs do not retry an empty balance, and do retry an overloaded upstream', async () => {
    const poor = await createCustomer(gateway.tollgate);
    const key = await subscribeWithKey(poor, { modelIds: [chatModel.id], tokens: 1 });
    chat.says(completion);
    await expect(
      openai(key).chat.completions.create({ model: chatModel.name, messages: HI }),
    ).rejects.toMatchObject({
      status: 429,
      code: 'insufficient_quota',
      type: 'insufficient_quota',
    });
    await expect(
      anthropic(key).messages.create({ model: chatModel.name, max_tokens: 9, messages: HI }),
    ).rejects.toMatchObject({ status: 402, error: { error: { type: 'billing_error' } } });
    expect(chat.count).toBe(0);
    chat.says({ error: { message: 'busy', type: 'server_error' } }, 500);
    await expect(
      openai().chat.completions.create({ model: chatModel.name, messages: HI }),
    ).rejects.toMatchObject({ status: 502 });
    expect(chat.count).toBe(2);
  });
});
