import { describe, expect, test } from '@jest/globals';
import { drive, type Loose } from '../../test/drive.ts';
import { ask, exchange, HI, sent, STREAM } from '../../test/gemini-client.ts';

describe('before Gemini a request keeps its bytes', () => {
  const text = `{ "contents" : [{"parts":[{"text":"h\\u00e9"}]}],
    "generation_config": {"max_output_tokens": 100, "thinkingConfig": {"thinkingBudget": 90}, "topK": 3},
    "safetySettings": [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}] }`;

  test('a granted limit goes over a larger one, in its spelling, and the budget of thoughts stays below it', () => {
    const { path, requestBody } = exchange('gemini', ask(text), { outputLimit: 40 });
    expect(path).toBe('/models/their-model:generateContent');
    expect(Buffer.from(requestBody).toString()).toBe(text.replace('100', '40').replace('90', '39'));
  });

  test('a smaller limit of the client stays', () => {
    const { requestBody } = exchange('gemini', ask(text), { outputLimit: 4_000 });
    expect(Buffer.from(requestBody).toString()).toBe(text);
  });

  test('a request without a limit gets the granted one', () => {
    expect(sent('gemini', ask(HI), { outputLimit: 7 })).toEqual({
      ...HI,
      generationConfig: { maxOutputTokens: 7 },
    });
    const config = { ...HI, generationConfig: { topK: 2 } };
    expect(sent('gemini', ask(config), { outputLimit: 7 })).toEqual({
      ...HI,
      generationConfig: { topK: 2, maxOutputTokens: 7 },
    });
  });

  test('an answer keeps its bytes but for the name of the model', () => {
    const answer =
      '{"candidates":[{"content":{"parts":[{"text":"a"}],"role":"model"},"finishReason":"STOP"}], "modelVersion": "their-model","usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":4,"totalTokenCount":7}}';
    const reading = exchange('gemini', ask(HI)).readJson(Buffer.from(answer));
    if (reading.kind === 'error') throw new Error(reading.error.message);
    expect(Buffer.from(reading.body).toString()).toBe(answer.replace('their-model', 'alias'));
    expect(reading.usage).toMatchObject({ input: 3, output: 4 });
  });

  const events = ['one', 'two'].map(
    (word, at) =>
      `data: ${JSON.stringify({
        candidates: [
          {
            content: { parts: [{ text: word, thoughtSignature: 'c2ln' }], role: 'model' },
            ...(at === 1 && { finishReason: 'STOP' }),
          },
        ],
        usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 2 * at + 1 },
        modelVersion: 'their-model',
      })}\r\n\r\n`,
  );

  test.each([[[1]], [[7, 50]], [[10_000]]])('a stream keeps its bytes, cut into %j', (sizes) => {
    const driven = drive(exchange('gemini', ask(HI, STREAM)), events.join(''), sizes);
    expect(driven.text).toBe(events.join('').replaceAll('their-model', 'alias'));
    expect(driven.reader).toMatchObject({ state: 'finished', isUsageFinal: true });
    expect(driven.reader.usage).toMatchObject({ input: 3, output: 3 });
  });

  test('a client that did not ask for events gets an array', () => {
    const { text: sent } = drive(
      exchange('gemini', ask(HI, { ...STREAM, isArray: true })),
      events.join(''),
    );
    const pieces: Loose[] = JSON.parse(sent);
    expect(pieces.map(({ candidates: [{ content }] }) => content.parts[0].text)).toEqual([
      'one',
      'two',
    ]);
    expect(new Set(pieces.map(({ modelVersion }) => modelVersion))).toEqual(new Set(['alias']));
  });

  test('an array that breaks off is closed with the error', () => {
    const driven = drive(
      exchange('gemini', ask(HI, { ...STREAM, isArray: true })),
      events[0] ?? '',
    );
    expect(driven.reader.state).toBe('failed');
    expect(JSON.parse(driven.text)[1]).toMatchObject({ error: { code: 502, status: 'INTERNAL' } });
  });
});
