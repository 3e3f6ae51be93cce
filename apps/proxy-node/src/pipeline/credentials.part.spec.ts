import { describe, expect, test } from '@jest/globals';
import { until } from '@tollgate/harness';
import type { SnapshotModel } from '@tollgate/snapshot';
import type { LocalUpstream } from '../testing/local-upstream.ts';
import { ask, COMPLETION, json, node, upstreamOf } from './pipeline-under-test.ts';

const CHAT = '/v1/chat/completions';
let lastAccount = 7_000;
const nextAccount = (): number => (lastAccount += 1);
/** Maps keys to the status that the provider answers, and the seconds to wait. */
type Refusals = Map<string, [status: number, retryAfter?: string]>;

interface Shared {
  readonly model: SnapshotModel;
  readonly refusals: Refusals;
  readonly upstream: LocalUpstream;
  /** Returns the keys of the requests so far, but for those of probes. */
  keys(): string[];
}

/** A model behind one upstream whose credentials have these keys and weights. */
async function shared(weights: Record<string, number>, further = 0): Promise<Shared> {
  const refusals: Refusals = new Map();
  const upstream = await upstreamOf((response, _, { headers }) => {
    const [status = 200, retryAfter] = refusals.get(keyIn(headers.authorization)) ?? [];
    if (status === 200) return json(response, COMPLETION);
    const error = { message: 'no', type: 'refused' };
    json(
      response,
      { error },
      status,
      retryAfter === undefined ? {} : { 'retry-after': retryAfter },
    );
  });
  const others = await Promise.all(
    Array.from({ length: further }, () => upstreamOf((response) => json(response, COMPLETION))),
  );
  const credentials = Object.entries(weights).map(([secret, weight], id) => ({
    ...{ id, weight },
    secret: `${secret}-0123456789`,
  }));
  const model = await node.addModel([
    { baseUrl: upstream.baseUrl, credentials },
    ...others.map(({ baseUrl }) => ({ baseUrl, priority: 1 })),
  ]);
  const isProbe = (body: string): boolean => body.includes('Say ok.');
  const keys = (): string[] =>
    upstream.requests
      .filter(({ body }) => !isProbe(body))
      .map(({ incoming }) => keyIn(incoming.headers.authorization));
  return { model, refusals, upstream, keys };
}

function keyIn(authorization: string | undefined): string {
  return (authorization ?? '').replace('Bearer ', '').replace('-0123456789', '');
}

async function post({ model }: Shared, headers: Record<string, string> = {}): Promise<number> {
  const response = await node.post(CHAT, ask(model), headers);
  await response.arrayBuffer();
  return response.status;
}

async function postMany(served: Shared, times: number, headers = {}): Promise<Set<number>> {
  const statuses = new Set<number>();
  for (let at = 0; at < times; at += 1) statuses.add(await post(served, headers));
  return statuses;
}

describe('an upstream with several credentials', () => {
  test('shares its requests among them by weight', async () => {
    const served = await shared({ one: 3, two: 1 });
    await Promise.all(Array.from({ length: 80 }, () => post(served)));
    const ones = served.keys().filter((key) => key === 'one').length;
    // Five standard deviations from the 60 that are expected.
    expect(Math.abs(ones - 60)).toBeLessThan(20);
  });

  test.each([[401], [402], [429]])(
    'answers a request of which one is refused with %i by another, and leaves that one alone',
    async (status) => {
      const served = await shared({ one: 1_000, two: 1 });
      served.refusals.set('one', [status, '60']);
      expect(await postMany(served, 3)).toEqual(new Set([200]));
      const refused = served.keys().filter((key) => key === 'one').length;
      expect([refused, served.keys().length]).toEqual([1, 4]);
    },
  );

  test('a refusal for one account leaves the credential to the others, until a probe is refused too', async () => {
    const served = await shared({ one: 1_000, two: 1 });
    served.refusals.set('one', [401]);
    const { key: other } = await node.addAccount(nextAccount(), [served.model]);
    expect(await post(served)).toBe(200);
    expect(await post(served, { authorization: `Bearer ${other}` })).toBe(200);
    expect(served.keys()).toEqual(['one', 'two', 'one', 'two']);
    await until('a probe with the refused key', () =>
      served.upstream.requests.some(
        ({ body, incoming }) =>
          body.includes('Say ok.') && keyIn(incoming.headers.authorization) === 'one',
      ),
    );
    const { key: third } = await node.addAccount(nextAccount(), [served.model]);
    await until('the rest for all', async () => {
      await post(served, { authorization: `Bearer ${third}` });
      return served.keys().at(-2) === 'two' || served.keys().length > 6;
    });
    expect(served.keys().slice(-1)).toEqual(['two']);
  });

  test('a failure of the provider itself is met once: no other credential of it is tried', async () => {
    const served = await shared({ one: 1, two: 1, three: 1 }, 1);
    for (const key of ['one', 'two', 'three']) served.refusals.set(key, [500]);
    expect(await post(served)).toBe(200);
    expect(served.keys()).toHaveLength(1);
  });

  test('a probe of the route that is refused for its credential takes the route from none', async () => {
    const served = await shared({ one: 1, two: 1_000 });
    served.refusals.set('one', [401]);
    served.refusals.set('two', [500]);
    const hostile = await Promise.all(
      [1, 2, 3].map(() => node.addAccount(nextAccount(), [served.model])),
    );
    for (let turn = 0; turn < 2; turn += 1)
      for (const { key } of hostile) await post(served, { authorization: `Bearer ${key}` });
    await until('a probe', () =>
      served.upstream.requests.some(({ body }) => body.includes('Say ok.')),
    );
    for (const { key } of hostile) await post(served, { authorization: `Bearer ${key}` });
    served.refusals.delete('two');
    expect(await post(served)).toBe(200);
  });

  test('when all rest, its client gets the time until the first may be asked', async () => {
    const served = await shared({ one: 1, two: 1 });
    served.refusals.set('one', [429, '50']);
    served.refusals.set('two', [429, '7']);
    expect(await post(served)).toBe(429);
    const response = await node.post(CHAT, ask(served.model));
    expect(response.status).toBe(429);
    expect([6, 7]).toContain(Number(response.headers.get('retry-after')));
    expect(served.keys().toSorted()).toEqual(['one', 'two']);
  });

  test('a session stays with its credential, moves while that one rests, and returns', async () => {
    const served = await shared({ one: 1, two: 1, three: 1 });
    const session = { 'session-id': 'of a cache' };
    await postMany(served, 6, session);
    const [own = ''] = served.keys();
    expect(new Set(served.keys())).toEqual(new Set([own]));
    served.refusals.set(own, [429, '1']);
    await postMany(served, 3, session);
    const moved = served.keys().slice(7);
    expect([new Set(moved).size, moved.includes(own)]).toEqual([1, false]);
    served.refusals.clear();
    await until('the session is back', async () => {
      await post(served, session);
      return served.keys().at(-1) === own;
    });
  });

  test('sessions are spread by weight', async () => {
    const served = await shared({ one: 3, two: 1 });
    await Promise.all(
      Array.from({ length: 120 }, (_, at) => post(served, { 'session-id': `s${at}` })),
    );
    const ones = served.keys().filter((key) => key === 'one').length;
    expect(Math.abs(ones - 90)).toBeLessThan(25);
  });

  test('a change of one credential leaves the rests of the others', async () => {
    const served = await shared({ one: 1_000, two: 1_000, three: 1 });
    served.refusals.set('one', [401]);
    served.refusals.set('two', [429, '60']);
    await postMany(served, 8);
    const before = served.keys().length;
    await node.publish(served.model, (upstream) => {
      const [, , third] = upstream.credentials ?? [];
      upstream.credentials = upstream.credentials?.filter(({ id }) => id !== third?.id) ?? [];
    });
    expect(await post(served)).toBe(503);
    expect(served.keys()).toHaveLength(before);
  });
});

describe('what one credential stores', () => {
  const stored = async () => {
    const upstream = await upstreamOf((response, body, { headers }) => {
      const id = `resp_${keyIn(headers.authorization)}`;
      const output = [
        {
          type: 'message',
          id: 'msg_1',
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text: 'hi', annotations: [] }],
        },
      ];
      const usage = { input_tokens: 3, output_tokens: 2, total_tokens: 5 };
      const { previous_response_id } = body === '' ? {} : JSON.parse(body);
      json(response, {
        ...{ id, object: 'response', created_at: 1, status: 'completed', model: 'm' },
        ...{ output, usage, previous_response_id: previous_response_id ?? null },
      });
    });
    const model = await node.addModel(
      [
        {
          baseUrl: upstream.baseUrl,
          overrides: { endpoints: ['responses'] },
          credentials: ['one', 'two', 'three'].map((secret, id) => ({
            id,
            secret: `${secret}-0123456789`,
          })),
        },
      ],
      { context_window: 1_000 },
    );
    return { upstream, model };
  };
  const get = (id: string): Promise<Response> =>
    fetch(`${node.url}/v1/responses/${id}`, {
      headers: { authorization: `Bearer ${node.apiKey}` },
    });
  const respond = async (model: SnapshotModel, more: object = {}) => {
    const response = await node.post('/v1/responses', { model: model.name, input: 'hi', ...more });
    return { status: response.status, body: (await response.json()) as { id: string } };
  };

  test('is continued and read with it alone, and not at all without it', async () => {
    const { upstream, model } = await stored();
    const keys = (): string[] =>
      upstream.requests.map(({ incoming }) => keyIn(incoming.headers.authorization));
    let first = await respond(model);
    while (keys().at(-1) === 'one') first = await respond(model);
    const owner = keys().at(-1);
    const begun = keys().length;
    for (let at = 0; at < 8; at += 1)
      expect((await respond(model, { previous_response_id: first.body.id })).status).toBe(200);
    const read = await get(first.body.id);
    expect(read.status).toBe(200);
    expect(keys().slice(begun)).toEqual(Array(9).fill(owner));
    const sent = JSON.parse(upstream.requests.at(begun)?.body ?? '{}');
    expect(sent.previous_response_id).toBe(`resp_${owner}`);

    await node.publish(model, (changed) => {
      changed.credentials = changed.credentials?.filter(({ id }) => id === 0) ?? [];
    });
    expect((await respond(model, { previous_response_id: first.body.id })).status).toBe(404);
    expect((await get(first.body.id)).status).toBe(404);
    expect(keys()).toHaveLength(begun + 9);
  });
});
