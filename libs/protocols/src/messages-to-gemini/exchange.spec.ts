import { describe, expect, test } from '@jest/globals';
import { drive, exchangeOf, type Loose } from '../../test/drive.ts';
import { InvalidRequest } from '../exchange.ts';
import { readGeminiUsage } from '../answers/gemini/gemini-usage.ts';

type Client = 'chat' | 'messages' | 'responses';
const HI = { role: 'user', content: 'hi' };
const ASKS = {
  chat: { model: 'alias', messages: [HI] },
  messages: { model: 'alias', max_tokens: 50, messages: [HI] },
  responses: { model: 'alias', input: 'hi' },
};
const gemini = (client: Client, body: object = {}, upstreamModel = 'gemini-2.5-flash') =>
  exchangeOf(client, 'gemini', { ...ASKS[client], ...body }, { upstreamModel });
const sent = (...ask: Parameters<typeof gemini>): Loose =>
  JSON.parse(Buffer.from(gemini(...ask).requestBody).toString());
const SIGNATURE = 'aGVs+bG8/w==';
const CALL = {
  candidates: [
    {
      content: {
        parts: [
          { functionCall: { name: 'f', args: { x: 1 } }, thoughtSignature: SIGNATURE },
          { functionCall: { name: 'g', args: {} } },
        ],
      },
      finishReason: 'STOP',
    },
  ],
  usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 4, totalTokenCount: 7 },
};
const answerTo = (client: Client, answer: object, body: object = {}): Loose => {
  const reading = gemini(client, body).readJson(Buffer.from(JSON.stringify(answer)));
  if (reading.kind === 'error') throw new Error(reading.error.message);
  return { ...JSON.parse(Buffer.from(reading.body).toString()), charged: reading.usage };
};

describe('a request to gemini says what its client says', () => {
  test('chat settings that messages has not, tools, a schema and the granted limit', () => {
    const schema = { type: 'object', properties: { a: { type: 'string' } } };
    const body = sent('chat', {
      messages: [{ role: 'system', content: 's' }, HI],
      temperature: 1.5,
      seed: 4,
      max_tokens: 9,
      stop: 'x',
      reasoning_effort: 'low',
      tools: [{ type: 'function', function: { name: 'f', parameters: schema } }],
      tool_choice: { type: 'function', function: { name: 'f' } },
      response_format: { type: 'json_schema', json_schema: { name: 'n', schema } },
    });
    expect(body).toEqual({
      systemInstruction: { parts: [{ text: 's' }] },
      contents: [{ role: 'user', parts: [{ text: 'hi' }] }],
      tools: [{ functionDeclarations: [{ name: 'f', parametersJsonSchema: schema }] }],
      toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['f'] } },
      generationConfig: expect.objectContaining({
        maxOutputTokens: 9,
        temperature: 1.5,
        seed: 4,
        stopSequences: ['x'],
        responseMimeType: 'application/json',
        responseJsonSchema: schema,
      }),
    });
  });

  test('each generation of models thinks in its own words', () => {
    const thinking = { thinking: { type: 'enabled', budget_tokens: 2_000 } };
    const of = (model: string) => sent('messages', thinking, model).generationConfig.thinkingConfig;
    expect(of('gemini-2.5-pro')).toEqual({ includeThoughts: true, thinkingBudget: 2_000 });
    expect(of('gemini-3-pro-preview')).toEqual({ includeThoughts: true, thinkingLevel: 'low' });
    expect(of('gemini-2.0-flash')).toBeUndefined();
  });

  test.each<[Client, object, string]>([
    ['chat', { n: 2 }, 'n'],
    ['chat', { logprobs: true }, 'logprobs'],
    [
      'chat',
      {
        messages: [
          { role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://x/y' } }] },
        ],
      },
      'messages[0].content[0].source.type',
    ],
    ['messages', { tools: [{ type: 'web_search_20250305', name: 'w' }] }, 'tools[0].type'],
    ['responses', { previous_response_id: 'resp_1' }, 'previous_response_id'],
  ])('%s refuses %j, naming %s', (client, body, param) => {
    let refused: unknown;
    try {
      gemini(client, body);
    } catch (error) {
      refused = error;
    }
    expect(refused).toBeInstanceOf(InvalidRequest);
    expect(refused).toMatchObject({ param });
  });
});

describe('the signature of a call comes back with it, whatever the client speaks', () => {
  const expected = [
    { functionCall: { name: 'f', args: { x: 1 } }, thoughtSignature: SIGNATURE },
    { functionCall: { name: 'g', args: {} } },
  ];
  const resultsOf = (body: Loose) => body.contents.at(-1).parts;
  const results = [
    { functionResponse: { name: 'f', response: { result: 'one' } } },
    { functionResponse: { name: 'g', response: { result: 'two' } } },
  ];

  test('a chat client sends its message back', () => {
    const message = answerTo('chat', CALL).choices[0].message;
    const [f, g] = message.tool_calls;
    const body = sent('chat', {
      messages: [
        HI,
        message,
        { role: 'tool', tool_call_id: f.id, content: 'one' },
        { role: 'tool', tool_call_id: g.id, content: 'two' },
      ],
    });
    expect(body.contents[1]).toEqual({ role: 'model', parts: expected });
    expect(resultsOf(body)).toEqual(results);
  });

  test('a messages client sends its blocks back', () => {
    const { content } = answerTo('messages', CALL);
    for (const { id } of content) expect(id).toMatch(/^[a-zA-Z0-9_-]+$/);
    const answers = content.map(({ id }: Loose, at: number) => ({
      type: 'tool_result',
      tool_use_id: id,
      content: ['one', 'two'][at],
    }));
    const body = sent('messages', {
      messages: [HI, { role: 'assistant', content }, { role: 'user', content: answers }],
    });
    expect(body.contents[1]).toEqual({ role: 'model', parts: expected });
    expect(resultsOf(body)).toEqual(results);
  });

  test('a client of responses sends its items back', () => {
    const { output } = answerTo('responses', CALL);
    const answers = output.map(({ call_id }: Loose, at: number) => ({
      type: 'function_call_output',
      call_id,
      output: ['one', 'two'][at],
    }));
    const body = sent('responses', { input: [HI, ...output, ...answers] });
    expect(body.contents[1]).toEqual({ role: 'model', parts: expected });
    expect(resultsOf(body)).toEqual(results);
  });

  test('a call of another model gets the word that Gemini takes in its place, where it insists on one', () => {
    const call = { id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' } };
    const messages = [
      HI,
      { role: 'assistant', tool_calls: [call] },
      { role: 'tool', tool_call_id: 'call_1', content: 'x' },
    ];
    const signed = (model: string) =>
      sent('chat', { messages }, model).contents[1].parts[0].thoughtSignature;
    expect(signed('gemini-3-pro-preview')).toBe('skip_thought_signature_validator');
    expect(signed('gemini-2.5-flash')).toBeUndefined();
  });
});

describe('an answer that the provider withholds is a refusal, and charged as it was reported', () => {
  const blocked = {
    promptFeedback: { blockReason: 'PROHIBITED_CONTENT' },
    usageMetadata: { promptTokenCount: 12, totalTokenCount: 12 },
  };
  const charged = { input: 12, output: 0 };

  test('a blocked prompt, in each protocol', () => {
    const chat = answerTo('chat', blocked);
    expect(chat.choices[0]).toMatchObject({ finish_reason: 'content_filter' });
    expect(chat.charged).toMatchObject(charged);
    const message = answerTo('messages', blocked);
    expect(message).toMatchObject({ stop_reason: 'refusal', content: [], charged });
    expect(answerTo('responses', blocked).charged).toMatchObject(charged);
  });

  test('a stream that ends without content for its safety', () => {
    const event = {
      candidates: [{ finishReason: 'SAFETY' }],
      usageMetadata: { promptTokenCount: 12, totalTokenCount: 12 },
    };
    const exchange = gemini('chat', { stream: true });
    expect(exchange.path).toBe('/models/gemini-2.5-flash:streamGenerateContent?alt=sse');
    const { text, reader } = drive(exchange, `data: ${JSON.stringify(event)}\n\n`);
    expect(text).toContain('"finish_reason":"content_filter"');
    expect(reader).toMatchObject({ state: 'finished', isUsageFinal: true, usage: charged });
  });

  test('a stream that breaks off before its reason is no answer', () => {
    const event = { candidates: [{ content: { parts: [{ text: 'so' }] } }] };
    const { reader } = drive(
      gemini('chat', { stream: true }),
      `data: ${JSON.stringify(event)}\n\n`,
    );
    expect(reader.state).toBe('failed');
  });
});

describe('the arithmetic of a report decides what its figures contain', () => {
  test.each([
    [
      { promptTokenCount: 10, candidatesTokenCount: 5, thoughtsTokenCount: 3, totalTokenCount: 18 },
      [10, 0, 8, 3],
    ],
    [
      { promptTokenCount: 10, candidatesTokenCount: 5, thoughtsTokenCount: 3, totalTokenCount: 15 },
      [10, 0, 5, 3],
    ],
    [
      {
        promptTokenCount: 10,
        cachedContentTokenCount: 6,
        candidatesTokenCount: 5,
        totalTokenCount: 15,
      },
      [4, 6, 5, 0],
    ],
    [
      {
        promptTokenCount: 10,
        toolUsePromptTokenCount: 7,
        candidatesTokenCount: 5,
        totalTokenCount: 22,
      },
      [17, 0, 5, 0],
    ],
    [
      {
        promptTokenCount: 10,
        toolUsePromptTokenCount: 7,
        candidatesTokenCount: 5,
        totalTokenCount: 15,
      },
      [10, 0, 5, 0],
    ],
    [{ promptTokenCount: 10, totalTokenCount: 10 }, [10, 0, 0, 0]],
  ])('the report %j is read by its sums', (report, [input, cacheRead, output, reasoning]) => {
    expect(readGeminiUsage(report)).toMatchObject({ input, cacheRead, output, reasoning });
    expect(readGeminiUsage(report)).not.toHaveProperty('unreported');
  });

  test('a figure that cannot be true leaves its side unreported, and one that is missing too', () => {
    expect(readGeminiUsage({ promptTokenCount: 10, candidatesTokenCount: -1 })).toMatchObject({
      input: 10,
      unreported: 'output',
    });
    expect(readGeminiUsage({ candidatesTokenCount: 4 })).toMatchObject({ unreported: 'prompt' });
    expect(readGeminiUsage({ promptTokenCount: 10 })).toMatchObject({ unreported: 'output' });
    expect(readGeminiUsage({})).toBeNull();
  });

  test('images are counted by themselves on both sides, but not where a cache gave them', () => {
    const of = (modality: string, tokenCount: number) => ({ modality, tokenCount });
    expect(
      readGeminiUsage({
        promptTokenCount: 1_000,
        cachedContentTokenCount: 258,
        candidatesTokenCount: 1_300,
        totalTokenCount: 2_300,
        promptTokensDetails: [of('TEXT', 226), of('IMAGE', 774)],
        cacheTokensDetails: [of('IMAGE', 258)],
        candidatesTokensDetails: [of('IMAGE', 1_290)],
      }),
    ).toMatchObject({
      ...{ input: 226, cacheRead: 258, imageInput: 516 },
      ...{ output: 10, imageOutput: 1_290 },
    });
  });

  test('sound is counted by itself, on both sides', () => {
    expect(
      readGeminiUsage({
        promptTokenCount: 10,
        candidatesTokenCount: 5,
        totalTokenCount: 15,
        promptTokensDetails: [{ modality: 'AUDIO', tokenCount: 4 }],
        candidatesTokensDetails: [{ modality: 'AUDIO', tokenCount: 2 }],
      }),
    ).toMatchObject({ input: 6, audioInput: 4, output: 3, audioOutput: 2 });
  });
});
