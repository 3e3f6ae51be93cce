import { describe, expect, test } from '@jest/globals';
import {
  ask,
  baseUrl,
  BOUGHT,
  call,
  model,
  native,
  node,
  ofProvider,
  type NativeBody,
} from './native-responses-under-test.ts';

describe('what an upstream has stored', () => {
  test('is gone on from, retrieved, listed and deleted by the account that made it', async () => {
    const first = await ask({ input: 'a first question' });
    const second = await ask({ input: 'a second', previous_response_id: first.body.id });
    expect(second.body.previous_response_id).toBe(first.body.id);
    expect(ofProvider(second.rid)?.promptTokens).toBeGreaterThan(
      ofProvider(first.rid)?.promptTokens ?? 0,
    );
    const path = `/v1/responses/${first.body.id}`;
    expect((await call('GET', path)).body).toEqual(first.body);
    const { body: items } = await call('GET', `${path}/input_items?limit=5&order=asc`);
    expect(items).toMatchObject({ object: 'list', data: [{ role: 'user' }] });
    expect([items.first_id, items.last_id]).toEqual([items.data[0].id, items.data[0].id]);
    expect(items.first_id).toMatch(/^msg_tg/);
    expect((await call('POST', `${path}/cancel`)).body.error.message).toContain('synchronous');
    expect((await call('DELETE', path)).body).toEqual({
      id: first.body.id,
      object: 'response',
      deleted: true,
    });
    expect((await call('GET', path)).status).toBe(404);
    // It is asked for again and again: that says nothing of the route, which serves all others.
    for (let time = 0; time < 8; time += 1)
      expect(await ask({ previous_response_id: first.body.id })).toMatchObject({
        status: 404,
        body: { error: { code: 'stored_not_found' } },
      });
    expect((await ask({})).status).toBe(200);
  });

  test('is nothing to another account, nor is a damaged id: 404 in the words of OpenAI', async () => {
    const { body } = await ask({ input: 'mine' });
    const { key } = await node.addAccount(8);
    const damaged = `${body.id.slice(0, -3)}AAA`;
    for (const [id, asking] of [
      [body.id, key],
      [damaged, node.apiKey],
      ['resp_0123456789abcdef', node.apiKey],
    ] as const)
      for (const [method, rest] of [
        ['GET', ''],
        ['DELETE', ''],
        ['POST', '/cancel'],
        ['GET', '/input_items'],
      ] as const)
        expect(await call(method, `/v1/responses/${id}${rest}`, { key: asking })).toMatchObject({
          status: 404,
          body: { error: { type: 'invalid_request_error', code: 'stored_not_found' } },
        });
    const referring = [
      { previous_response_id: damaged },
      { conversation: 'conv_1' },
      { input: [{ type: 'item_reference', id: 'msg_1' }] },
      { input: [{ id: 'msg_1' }] },
      { previous_response_id: body.id, input: [{ type: 'item_reference', id: 'msg_1' }] },
    ];
    for (const fields of referring)
      expect(await ask(fields)).toMatchObject({
        status: 404,
        body: { error: { code: 'stored_not_found' } },
      });
    expect((await call('GET', `/v1/responses/${body.id}`)).status).toBe(200);
  });

  test('holds the context window of its model, as nothing in the request bounds it', async () => {
    const tight = await native({ context_window: 5_000_000 });
    const first = await ask({ model: tight.name });
    expect(first.status).toBe(200);
    const second = await ask({ model: tight.name, previous_response_id: first.body.id });
    expect(second.body.error.code).toBe('insufficient_quota');
  });

  test('items are named by their sealed ids, and carry none that another upstream has made', async () => {
    const { body } = await ask({ input: '@demo tokens=3' });
    const [message] = body.output;
    const again = await ask({
      input: [
        { type: 'item_reference', id: message.id },
        { type: 'message', role: 'user', content: '@demo tokens=2' },
      ],
    });
    expect(again.status).toBe(200);
    const elsewhere = await native();
    const moved = await ask({
      model: elsewhere.name,
      input: [message, { role: 'user', content: '@demo tokens=2' }],
    });
    expect(moved.status).toBe(200);
  });

  test('is counted with what it goes on from, by the upstream that has it', async () => {
    const { body } = await ask({ input: 'a first question of some words' });
    const count = async (fields: object): Promise<NativeBody> =>
      (
        await call('POST', '/v1/responses/input_tokens', {
          body: { model: model.name, input: 'hi', ...fields },
        })
      ).body;
    const alone = await count({});
    expect(alone).toEqual({ object: 'response.input_tokens', input_tokens: 5 });
    const after = await count({ previous_response_id: body.id });
    expect(after.input_tokens).toBeGreaterThan(alone.input_tokens + body.usage.input_tokens);
    const translated = await node.addModel([{ baseUrl }], { context_window: 10_000 }, BOUGHT);
    const estimated = await count({ model: translated.name });
    expect(estimated.object).toBe('response.input_tokens');
    expect(estimated.input_tokens).toBeGreaterThan(0);
  });

  test('conversations are made, filled, used and deleted', async () => {
    const made = await call('POST', '/v1/conversations', {
      body: { items: [{ type: 'message', role: 'user', content: 'remember this' }] },
    });
    const { id } = made.body;
    expect(id).toMatch(/^conv_tg/);
    const answered = await ask({ conversation: id, input: '@demo tokens=2' });
    expect(answered.body.conversation).toEqual({ id });
    const path = `/v1/conversations/${id}`;
    const { body: items } = await call('GET', `${path}/items`);
    expect(items.data.map(({ role }) => role)).toEqual(['user', 'user', 'assistant']);
    expect(items.data[2]?.id).toBe(answered.body.output[0].id);
    const one = await call('GET', `${path}/items/${items.data[0].id}`);
    expect(one.body).toMatchObject({ id: items.data[0].id, content: 'remember this' });
    const { key } = await node.addAccount(8);
    expect((await call('GET', path, { key })).status).toBe(404);
    expect((await call('POST', '/v1/conversations', { key, body: {} })).body.error.code).toBe(
      'no_conversations',
    );
    expect((await call('DELETE', path)).body).toMatchObject({ id, deleted: true });
    expect((await call('GET', path)).status).toBe(404);
  });
});
