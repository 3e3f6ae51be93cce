import { describe, expect, test } from '@jest/globals';
import { balanceOf, recordOf, settledRows } from './books.ts';
import {
  anthropic,
  chat,
  customer,
  embedding,
  key,
  native,
  openai,
  PATHS,
  say,
  tollgate,
} from './official-sdks-under-test.ts';

describe.each(PATHS)('through the %s', (path) => {
  test('chat completions answer JSON whose usage is what leaves the balance', async () => {
    const before = await balanceOf(tollgate, customer, chat.id);
    const { data, response } = await openai(path)
      .chat.completions.create({ model: chat.name, messages: say('@demo tokens=9') })
      .withResponse();
    const rid = response.headers.get('x-request-id');
    expect(rid).toBe(response.headers.get('request-id'));
    expect(data.model).toBe(chat.name);
    expect(data.usage?.completion_tokens).toBe(9);
    const [row] = await settledRows(tollgate, rid ?? '');
    expect(row).toMatchObject({
      input_tokens: data.usage?.prompt_tokens,
      output_tokens: 9,
      charge: data.usage?.total_tokens,
      basis: 'reported',
      outcome: 'completed',
    });
    const reported = (await recordOf(tollgate, rid ?? '')).reported;
    expect(reported).toEqual({ prompt: data.usage?.prompt_tokens, output: 9 });
    expect(before - (await balanceOf(tollgate, customer, chat.id))).toBe(data.usage?.total_tokens);
  });

  test('chat completions stream without usage that was not requested, and are charged exactly', async () => {
    const { data, response } = await openai(path)
      .chat.completions.create({ model: chat.name, stream: true, messages: say('@demo tokens=12') })
      .withResponse();
    let words = 0;
    for await (const chunk of data) {
      expect(chunk).not.toHaveProperty('usage');
      expect(chunk.model).toBe(chat.name);
      if (chunk.choices[0]?.delta.content) words += 1;
    }
    expect(words).toBe(12);
    const rid = response.headers.get('x-request-id') ?? '';
    const reported = (await recordOf(tollgate, rid)).reported;
    const [row] = await settledRows(tollgate, rid);
    expect(row).toMatchObject({
      input_tokens: reported?.prompt,
      output_tokens: reported?.output,
      basis: 'reported',
      is_stream: true,
    });
  });

  test('a chat stream shows one usage chunk last when it was asked for', async () => {
    const stream = await openai(path).chat.completions.create({
      model: chat.name,
      stream: true,
      stream_options: { include_usage: true },
      messages: say('@demo tokens=5'),
    });
    const chunks = [];
    for await (const chunk of stream) chunks.push(chunk);
    const last = chunks.at(-1);
    expect(last?.choices).toEqual([]);
    expect(last?.usage?.completion_tokens).toBe(5);
    expect(chunks.filter((chunk) => chunk.usage)).toHaveLength(1);
  });

  test('messages answer JSON and streams through the Anthropic SDK, charged exactly', async () => {
    const { data, response } = await anthropic(path)
      .messages.create({ model: chat.name, max_tokens: 50, messages: say('@demo tokens=7') })
      .withResponse();
    expect(data.usage.output_tokens).toBe(7);
    const [row] = await settledRows(tollgate, response.headers.get('request-id') ?? '');
    expect(row).toMatchObject({
      input_tokens: data.usage.input_tokens,
      output_tokens: 7,
      protocol: 'messages',
    });

    const stream = anthropic(path).messages.stream({
      model: chat.name,
      max_tokens: 50,
      messages: say('@demo tokens=11'),
    });
    const message = await stream.finalMessage();
    expect(message.usage.output_tokens).toBe(11);
    expect(message.model).toBe(chat.name);
    expect(message.stop_reason).toBe('end_turn');
    const [streamed] = await settledRows(tollgate, stream.request_id ?? '');
    expect(streamed).toMatchObject({
      input_tokens: message.usage.input_tokens,
      output_tokens: 11,
      is_stream: true,
    });
  });

  test('embeddings answer in the format the SDK asks for', async () => {
    const list = await openai(path).embeddings.create({
      model: embedding.name,
      input: ['one gate', 'two gates'],
    });
    expect(list.data.map((item) => item.embedding.length)).toEqual([8, 8]);
    const floats = await openai(path).embeddings.create({
      model: embedding.name,
      input: 'one gate',
      encoding_format: 'float',
    });
    expect(floats.data[0]?.embedding).toEqual(list.data[0]?.embedding);
  });

  test('the model list holds what the account subscribed to, in both SDKs', async () => {
    const names = [chat.name, embedding.name, native.name].toSorted();
    expect((await openai(path).models.list()).data.map((model) => model.id).toSorted()).toEqual(
      names,
    );
    expect((await anthropic(path).models.list()).data.map((model) => model.id).toSorted()).toEqual(
      names,
    );
  });

  test("a bad key is 401 in each protocol's own words", async () => {
    const bad = `${key.slice(0, -4)}AAAA`;
    await expect(
      openai(path, bad).chat.completions.create({ model: chat.name, messages: say('hi') }),
    ).rejects.toMatchObject({ status: 401, code: 'invalid_api_key' });
    await expect(
      anthropic(path, bad).messages.create({
        model: chat.name,
        max_tokens: 5,
        messages: say('hi'),
      }),
    ).rejects.toMatchObject({
      status: 401,
      error: { type: 'error', error: { type: 'authentication_error' } },
    });
  });

  test("an unknown model is 404 in each protocol's own words", async () => {
    await expect(
      openai(path).chat.completions.create({ model: 'no-such-model', messages: say('hi') }),
    ).rejects.toMatchObject({ status: 404, code: 'model_not_found' });
    await expect(
      anthropic(path).messages.create({
        model: 'no-such-model',
        max_tokens: 5,
        messages: say('hi'),
      }),
    ).rejects.toMatchObject({
      status: 404,
      error: { error: { type: 'not_found_error' } },
    });
  });
});
