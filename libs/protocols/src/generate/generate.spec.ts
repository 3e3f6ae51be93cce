import { describe, expect, test } from '@jest/globals';
import { NO_USAGE, type UpstreamProtocol } from '@tollgate/contracts';
import { drive, jsonEvents, RID, wireEvents, type Loose } from '../../test/drive.ts';
import { ask, exchange, HI, sent, STREAM } from '../../test/gemini-client.ts';
import { findUnsupported } from '../index.ts';

describe('before another upstream a request says the same', () => {
  const schema = {
    type: 'OBJECT',
    properties: {
      type: { type: 'STRING', nullable: true },
      n: { type: 'INTEGER', format: 'int64' },
    },
    propertyOrdering: ['n'],
    min_items: '2',
  };
  const asked = {
    system_instruction: { parts: [{ text: 'be brief' }] },
    contents: [
      {
        role: 'user',
        parts: [{ text: 'look' }, { inline_data: { mime_type: 'image/png', data: 'AAAA' } }],
      },
      {
        role: 'model',
        parts: [
          { text: 'hm', thought: true, thoughtSignature: 'c2lnKysvLw' },
          { text: 'calling' },
          { functionCall: { name: 'f', args: { x: 1 } } },
          { functionCall: { id: 'own', name: 'f', args: {} } },
        ],
      },
      {
        role: 'user',
        parts: [
          { functionResponse: { name: 'f', response: { output: 'first' } } },
          { functionResponse: { id: 'own', name: 'f', response: { a: 2 } } },
        ],
      },
    ],
    tools: [
      {
        functionDeclarations: [
          { name: 'f', description: 'd', parameters: schema },
          { name: 'g', parametersJsonSchema: { type: 'object' } },
        ],
      },
    ],
    toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['f'] } },
    generationConfig: {
      temperature: 0.5,
      topP: 0.9,
      topK: 40,
      seed: 3,
      stopSequences: ['x'],
      maxOutputTokens: 50,
      thinkingConfig: { thinkingBudget: 4_000, includeThoughts: true },
      responseMimeType: 'application/json',
      responseSchema: schema,
    },
  };
  const jsonSchema = {
    type: 'object',
    properties: { type: { type: ['string', 'null'] }, n: { type: 'integer', format: 'int64' } },
    minItems: 2,
  };

  test('as a request of chat', () => {
    expect(sent('openai', ask(asked), { outputLimit: 50 })).toEqual({
      model: 'their-model',
      messages: [
        { role: 'system', content: 'be brief' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'look' },
            { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
          ],
        },
        {
          role: 'assistant',
          content: 'calling',
          thinking_blocks: [{ type: 'thinking', thinking: 'hm', signature: 'sig++//' }],
          tool_calls: [
            { id: 'call_1_0', type: 'function', function: { name: 'f', arguments: '{"x":1}' } },
            { id: 'own', type: 'function', function: { name: 'f', arguments: '{}' } },
          ],
        },
        { role: 'tool', tool_call_id: 'call_1_0', content: 'first' },
        { role: 'tool', tool_call_id: 'own', content: '{"a":2}' },
      ],
      tools: [
        { type: 'function', function: { name: 'f', description: 'd', parameters: jsonSchema } },
      ],
      tool_choice: 'required',
      temperature: 0.5,
      top_p: 0.9,
      seed: 3,
      stop: ['x'],
      reasoning_effort: 'medium',
      response_format: { type: 'json_schema', json_schema: { name: 'answer', schema: jsonSchema } },
      max_completion_tokens: 50,
    });
  });

  test('as a request of messages', () => {
    expect(sent('anthropic', ask(HI, STREAM), { outputLimit: 50 })).toMatchObject({
      model: 'their-model',
      max_tokens: 50,
      messages: [{ role: 'user' }],
      stream: true,
    });
  });

  test('the answer of chat is one of Gemini, with what is charged', () => {
    const completion = {
      id: 'c',
      object: 'chat.completion',
      choices: [
        {
          index: 0,
          message: {
            role: 'assistant',
            content: 'said',
            reasoning_content: 'thought',
            tool_calls: [
              { id: 'i', type: 'function', function: { name: 'f', arguments: '{"a":1}' } },
            ],
          },
          finish_reason: 'tool_calls',
        },
      ],
      usage: {
        prompt_tokens: 10,
        completion_tokens: 8,
        total_tokens: 18,
        prompt_tokens_details: { cached_tokens: 4 },
        completion_tokens_details: { reasoning_tokens: 3 },
      },
    };
    const reading = exchange('openai', ask(HI)).readJson(Buffer.from(JSON.stringify(completion)));
    if (reading.kind === 'error') throw new Error(reading.error.message);
    expect(reading.usage).toMatchObject({ input: 6, cacheRead: 4, output: 8, reasoning: 3 });
    expect(JSON.parse(Buffer.from(reading.body).toString())).toEqual({
      candidates: [
        {
          content: {
            role: 'model',
            parts: [
              { text: 'thought', thought: true },
              { text: 'said' },
              { functionCall: { id: 'i', name: 'f', args: { a: 1 } } },
            ],
          },
          finishReason: 'STOP',
          index: 0,
        },
      ],
      usageMetadata: {
        promptTokenCount: 10,
        candidatesTokenCount: 5,
        thoughtsTokenCount: 3,
        cachedContentTokenCount: 4,
        totalTokenCount: 18,
      },
      modelVersion: 'alias',
      responseId: RID.replaceAll('-', ''),
    });
  });

  test.each([
    ['length', 'MAX_TOKENS'],
    ['content_filter', 'SAFETY'],
    ['stop', 'STOP'],
  ])('an answer that ends with %s ends with %s', (reason, finishReason) => {
    const choice = { index: 0, message: { content: 'a' }, finish_reason: reason };
    const reading = exchange('openai', ask(HI)).readJson(
      Buffer.from(JSON.stringify({ choices: [choice] })),
    );
    if (reading.kind === 'error') throw new Error(reading.error.message);
    const answer: Loose = JSON.parse(Buffer.from(reading.body).toString());
    expect(answer.candidates[0].finishReason).toBe(finishReason);
  });

  const chunk = (delta: object, finish: string | null = null): string =>
    `data: ${JSON.stringify({
      id: 'c',
      object: 'chat.completion.chunk',
      model: 'm',
      choices: [{ index: 0, delta, finish_reason: finish }],
    })}\n\n`;
  const call = (id: string | undefined, args: string): string =>
    chunk({
      tool_calls: [{ index: 0, id, function: { ...(id && { name: 'f' }), arguments: args } }],
    });
  const stream = [
    chunk({ role: 'assistant', content: '' }),
    chunk({ content: 'one ' }),
    chunk({ content: 'two' }),
    call('i', '{"a"'),
    call(undefined, ':1}'),
    chunk({}, 'tool_calls'),
    `data: ${JSON.stringify({ id: 'c', choices: [], usage: { prompt_tokens: 5, completion_tokens: 6, total_tokens: 11 } })}\n\n`,
    'data: [DONE]\n\n',
  ].join('');

  test.each([[[1]], [[13, 90]], [[10_000]]])(
    'a stream, cut into %j, ends with calls, finish and usage',
    (sizes) => {
      const driven = drive(exchange('openai', ask(HI, STREAM)), stream, sizes);
      const pieces = jsonEvents(driven.text);
      expect(
        pieces.slice(0, -1).map(({ candidates: [{ content }] }) => content.parts[0].text),
      ).toEqual(['one ', 'two']);
      expect(pieces.at(-1)).toMatchObject({
        candidates: [
          {
            content: { parts: [{ functionCall: { id: 'i', name: 'f', args: { a: 1 } } }] },
            finishReason: 'STOP',
          },
        ],
        usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 6, totalTokenCount: 11 },
      });
      expect(wireEvents(driven.text)).toHaveLength(3);
      expect(driven.reader).toMatchObject({ state: 'finished', usage: { input: 5, output: 6 } });
    },
  );

  test.each<UpstreamProtocol>(['openai', 'anthropic', 'gemini'])(
    'a stream before %s is kept alive by empty lines, as a client of Google reads a comment as JSON',
    (protocol) => {
      const reader = exchange(protocol, ask(HI, STREAM)).openStream({ output: () => {} });
      const ping = protocol === 'anthropic' ? 'event: ping\ndata: {"type":"ping"}\n\n' : '';
      const said = [reader.keepAlive(), reader.push(Buffer.from(`: waiting\n\n${ping}`))];
      expect(said.map((bytes) => /^\n+$/.test(Buffer.from(bytes).toString()))).toEqual([
        true,
        true,
      ]);
    },
  );

  test('a stream that is ended at its limit says so, and one that breaks off ends with an error', () => {
    const reader = exchange('openai', ask(HI, STREAM)).openStream({ output: () => {} });
    reader.push(Buffer.from(chunk({ content: 'one' })));
    const usage = { ...NO_USAGE, input: 2, output: 1 };
    const [last] = jsonEvents(Buffer.from(reader.finishEarly(usage)).toString());
    expect(last).toMatchObject({
      candidates: [{ finishReason: 'MAX_TOKENS' }],
      usageMetadata: { promptTokenCount: 2, candidatesTokenCount: 1 },
    });
    const cut = drive(exchange('openai', ask(HI, STREAM)), chunk({ content: 'one' }));
    expect(jsonEvents(cut.text).at(-1)).toMatchObject({ error: { code: 502 } });
  });

  test.each([
    [
      'generationConfig.responseModalities',
      { generationConfig: { responseModalities: ['IMAGE'] } },
    ],
    ['tools[0].googleSearch', { tools: [{ googleSearch: {} }] }],
    [
      'contents[0].parts[0].inlineData',
      { contents: [{ parts: [{ inlineData: { mimeType: 'video/mp4', data: 'AAAA' } }] }] },
    ],
  ])('%s, which only Gemini has, is refused by name', (param, change) => {
    const asked = ask({ ...HI, ...change });
    const at = (protocol: UpstreamProtocol) =>
      findUnsupported(asked, { speech: { protocol }, upstreamModel: 'm' });
    for (const protocol of ['openai', 'anthropic', 'bedrock', 'azure'] as const)
      expect(at(protocol)).toMatchObject({ param, code: 'unsupported_parameter' });
    expect(at('gemini')).toBeNull();
    expect(
      findUnsupported(asked, { speech: { protocol: 'vertex' }, upstreamModel: 'gemini-2.5-pro' }),
    ).toBeNull();
  });
});
