import { beforeAll, describe, expect, test } from '@jest/globals';
import type { SnapshotModel } from './demo-node-under-test.ts';
import {
  ask,
  baseUrl,
  BOUGHT,
  call,
  model,
  native,
  node,
  type Answered,
} from './native-responses-under-test.ts';

/** This model has routes to the same upstream as `model`. */
let other: SnapshotModel;
const keys: Record<string, string> = {};

const NOT_STORED = { status: 404, body: { error: { code: 'stored_not_found' } } };
const MESSAGE = { type: 'message', role: 'user', content: 'remember this' };

async function share(): Promise<void> {
  if (keys['nothing']) return;
  other = await native({}, model);
  const lists = {
    everything: '',
    both: `${model.name},${other.name}`,
    first: model.name,
    second: other.name,
    nothing: 'nothing',
  };
  for (const [name, allowedModels] of Object.entries(lists))
    keys[name] = (await node.putKey({ allowedModels })).key;
}

/** Is a way in which a caller reaches the objects that `model` has made, named by the ids of the response, of its item, and of its conversation. */
type Way = (ids: { response: string; item: string }, key: string) => Promise<Answered>;

const TO_RESPONSE: Record<string, Way> = {
  'GET /v1/responses/{id}': ({ response }, key) =>
    call('GET', `/v1/responses/${response}`, { key }),
  'GET /v1/responses/{id}/input_items': ({ response }, key) =>
    call('GET', `/v1/responses/${response}/input_items`, { key }),
  'POST /v1/responses/{id}/cancel': ({ response }, key) =>
    call('POST', `/v1/responses/${response}/cancel`, { key }),
  'DELETE /v1/responses/{id}': ({ response }, key) =>
    call('DELETE', `/v1/responses/${response}`, { key }),
  'POST /v1/responses with previous_response_id': ({ response }, key) =>
    ask({ model: other.name, previous_response_id: response }, key),
  'POST /v1/responses with an item': ({ item }, key) =>
    ask({ model: other.name, input: [{ type: 'item_reference', id: item }] }, key),
  'POST /v1/responses/input_tokens': ({ response }, key) =>
    call('POST', '/v1/responses/input_tokens', {
      key,
      body: { model: other.name, input: 'hi', previous_response_id: response },
    }),
};

describe("a stored response of one model is reached by the account's keys that may use the model (S24a)", () => {
  beforeAll(share);
  const made = async () => {
    const { body } = await ask({ input: '@demo tokens=3' });
    return { response: body.id, item: body.output[0].id };
  };

  test.each(Object.keys(TO_RESPONSE))('%s', async (name) => {
    const reach = TO_RESPONSE[name] as Way;
    for (const key of ['second', 'nothing']) {
      const refused = await reach(await made(), keys[key] ?? '');
      expect([key, refused]).toEqual([key, expect.objectContaining({ status: 404 })]);
      expect(refused).toMatchObject(NOT_STORED);
    }
    for (const key of ['everything', 'both'])
      expect([key, (await reach(await made(), keys[key] ?? '')).status]).not.toEqual([key, 404]);
  });

  test('its own key reads it, and an id that does not exist is refused in the same words', async () => {
    const { response } = await made();
    const path = `/v1/responses/${response}`;
    expect((await call('GET', path, { key: keys['first'] ?? '' })).status).toBe(200);
    const refusals = [response, `${response.slice(0, -3)}AAA`].map(async (id) => {
      const { body } = await call('GET', `/v1/responses/${id}`, { key: keys['nothing'] ?? '' });
      return JSON.stringify(body.error).replaceAll(id, 'ID');
    });
    const [hidden, absent] = await Promise.all(refusals);
    expect(hidden).toBe(absent);
  });

  test('an item is left without its id in a request of a key that may not use its model', async () => {
    const { body } = await ask({ input: '@demo tokens=3' });
    const input = [body.output[0], { role: 'user', content: '@demo tokens=2' }];
    const { status } = await ask({ model: other.name, input }, keys['second']);
    expect(status).toBe(200);
  });
});

const TO_CONVERSATION: Record<
  string,
  (id: string, item: string, key: string) => Promise<Answered>
> = {
  'GET /v1/conversations/{id}': (id, _, key) => call('GET', `/v1/conversations/${id}`, { key }),
  'POST /v1/conversations/{id}': (id, _, key) =>
    call('POST', `/v1/conversations/${id}`, { key, body: { metadata: {} } }),
  'GET /v1/conversations/{id}/items': (id, _, key) =>
    call('GET', `/v1/conversations/${id}/items`, { key }),
  'POST /v1/conversations/{id}/items': (id, _, key) =>
    call('POST', `/v1/conversations/${id}/items`, { key, body: { items: [MESSAGE] } }),
  'GET /v1/conversations/{id}/items/{item}': (id, item, key) =>
    call('GET', `/v1/conversations/${id}/items/${item}`, { key }),
  'POST /v1/responses with conversation': (id, _, key) =>
    ask({ model: other.name, input: '@demo tokens=1', conversation: id }, key),
  'DELETE /v1/conversations/{id}/items/{item}': (id, item, key) =>
    call('DELETE', `/v1/conversations/${id}/items/${item}`, { key }),
  'DELETE /v1/conversations/{id}': (id, _, key) =>
    call('DELETE', `/v1/conversations/${id}`, { key }),
};

describe('a conversation', () => {
  beforeAll(share);
  const begin = async (key: string): Promise<string> =>
    (
      await call('POST', '/v1/conversations', {
        key: keys[key] ?? '',
        body: { items: [{ ...MESSAGE, content: '@demo tokens=2' }] },
      })
    ).body.id;
  const itemOf = async (id: string, key: string): Promise<string> =>
    (await call('GET', `/v1/conversations/${id}/items`, { key: keys[key] ?? '' })).body.data[0].id;

  test.each(Object.keys(TO_CONVERSATION))(
    'is reached by its creator alone until a model is used in it, then by the keys that may use its models: %s',
    async (name) => {
      const reach = TO_CONVERSATION[name] ?? (() => Promise.reject(new Error('no such way')));
      const unused = await begin('both');
      const first = await itemOf(unused, 'both');
      for (const key of ['everything', 'first', 'second', 'nothing'])
        expect([key, await reach(unused, first, keys[key] ?? '')]).toMatchObject([key, NOT_STORED]);
      expect((await reach(unused, first, keys['both'] ?? '')).status).toBe(200);
      const used = await begin('first');
      expect((await ask({ conversation: used }, keys['first'])).status).toBe(200);
      const item = await itemOf(used, 'first');
      for (const key of ['second', 'nothing'])
        expect([key, await reach(used, item, keys[key] ?? '')]).toMatchObject([key, NOT_STORED]);
      expect((await reach(used, item, keys['everything'] ?? '')).status).toBe(200);
    },
  );

  test('is closed to its creator by a model that the creator may not use', async () => {
    const id = await begin('first');
    expect((await ask({ conversation: id }, keys['first'])).status).toBe(200);
    const path = `/v1/conversations/${id}`;
    expect((await ask({ model: other.name, conversation: id }, keys['both'])).status).toBe(200);
    expect(await call('GET', path, { key: keys['first'] ?? '' })).toMatchObject(NOT_STORED);
    const items = await call('GET', `${path}/items`, { key: keys['both'] ?? '' });
    const input = [{ type: 'item_reference', id: items.body.data[0].id }];
    expect(await ask({ input }, keys['first'])).toMatchObject(NOT_STORED);
    expect((await ask({ input }, keys['both'])).status).toBe(200);
  });

  test('is made only by keys that may use a model with conversations', async () => {
    const made = (key: string) =>
      call('POST', '/v1/conversations', { key: keys[key] ?? '', body: { items: [MESSAGE] } });
    expect((await made('nothing')).body.error.code).toBe('no_conversations');
    expect((await made('second')).status).toBe(200);
  });

  test('counts as a request: one that is made, and each addition of items', async () => {
    const { key } = await node.putKey({ rpd: 3 });
    const items = { key, body: { items: [MESSAGE] } };
    const { body } = await call('POST', '/v1/conversations', items);
    const path = `/v1/conversations/${body.id}/items`;
    expect((await call('POST', path, items)).status).toBe(200);
    expect((await ask({}, key)).status).toBe(200);
    for (const refused of [
      await call('POST', '/v1/conversations', items),
      await call('POST', path, items),
      await ask({}, key),
    ])
      expect(refused).toMatchObject({ status: 429, body: { error: { code: expect.any(String) } } });
    expect((await call('GET', path, { key })).status).toBe(200);
  });

  test('is stored by the next upstream while the first one is down', async () => {
    const overrides = { endpoints: ['responses' as const] };
    const down = { baseUrl: 'http://127.0.0.1:1/v1', overrides };
    const both = await node.addModel([down, { baseUrl, overrides }], {}, BOUGHT);
    const { key } = await node.putKey({ allowedModels: both.name });
    const made = await call('POST', '/v1/conversations', { key, body: { items: [MESSAGE] } });
    expect(made.status).toBe(200);
    const items = await call('GET', `/v1/conversations/${made.body.id}/items`, { key });
    expect(items.body.data).toHaveLength(1);
  });

  test('is refused as the last upstream refused it when all are down', async () => {
    const overrides = { endpoints: ['responses' as const] };
    const down = { baseUrl: 'http://127.0.0.1:1/v1', overrides };
    const { name } = await node.addModel([down], {}, BOUGHT);
    const { key } = await node.putKey({ allowedModels: name });
    expect((await call('POST', '/v1/conversations', { key, body: {} })).status).toBe(502);
  });

  test('names the model that cannot reach it, where its caller may read it', async () => {
    const overrides = { endpoints: ['responses' as const] };
    const elsewhere = await node.addModel([{ baseUrl, overrides }], {}, BOUGHT);
    const id = await begin('everything');
    expect(
      (await call('GET', `/v1/conversations/${id}`, { key: keys['everything'] ?? '' })).status,
    ).toBe(200);
    const refused = await ask({ model: elsewhere.name, conversation: id }, keys['everything']);
    expect(refused).toMatchObject(NOT_STORED);
    expect(JSON.stringify(refused.body)).toContain('its model has no route there');
  });
});
