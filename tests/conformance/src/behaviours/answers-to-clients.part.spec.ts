import { describe, expect, test } from '@jest/globals';
import { letPass } from '@tollgate/harness';
import { looseJson, textEvents, type Loose } from '../event-text.ts';
import { usageRows } from '../usage-rows.ts';
import {
  anthropic,
  block,
  chat,
  chatModel,
  chunk,
  claude,
  END,
  gateway,
  HI,
  KEEP_ALIVE_MS,
  messages,
  named,
  openai,
  post,
  start,
  stop,
  USAGE,
} from './client-behaviours-under-test.ts';

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
        void letPass(KEEP_ALIVE_MS * 3, 'the node sends its keep-alives').then(() =>
          response.writeHead(200, { 'content-type': 'text/event-stream' }).end(text),
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
