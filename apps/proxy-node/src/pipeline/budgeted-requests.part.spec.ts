import { describe, expect, test } from '@jest/globals';
import { until } from '@tollgate/harness';
import { scopeValue } from '@tollgate/keyspace';
import { ACCOUNT_ID } from '../testing/node-under-test.ts';
import type { SnapshotModel } from '@tollgate/snapshot';
import { ask, COMPLETION, json, node, scrape, STREAM, upstreamOf } from './pipeline-under-test.ts';

/** The demo answer has 11 tokens of input and 5 of output. */
const CHARGE = 16;
let lastBudget = 0;

interface Budget {
  unit?: string;
  amount: number;
  starts?: readonly number[];
  each?: 's' | 'u';
  isRequired?: boolean;
  action?: 'refuse' | 'fallback';
  models?: string;
}

/** Makes a key with these budgets, and a model that answers. */
async function budgeted(...budgets: Budget[]) {
  const { model, upstream } = await answering();
  return { model, upstream, ...(await keyWith(model, budgets)) };
}

async function answering(change: Partial<SnapshotModel> = {}) {
  const upstream = await upstreamOf((response, body) =>
    body.includes('"stream":true')
      ? response.writeHead(200, { 'content-type': 'text/event-stream' }).end(STREAM.join(''))
      : json(response, COMPLETION),
  );
  const { baseUrl } = upstream;
  return { upstream, model: await node.addModel([{ baseUrl, protocol: 'openai' }], change) };
}

async function keyWith(model: SnapshotModel, budgets: readonly Budget[]) {
  const ids: number[] = [];
  const list = budgets.map(({ unit = 'charged_tokens', amount, starts = [0], ...of }) => {
    ids.push((lastBudget += 1));
    const begins = starts.map((start) => String(start).padStart(10, '0')).join('');
    const { each = '', isRequired = false, action = 'refuse', models = '' } = of;
    return [lastBudget, unit, amount, begins, models, action, {}, each, Number(isRequired)];
  });
  const { key } = await node.putKey({ budgets: JSON.stringify(list) });
  const call = (more: object = {}, path = '/v1/chat/completions', headers = {}) =>
    node.post(path, ask(model, { max_tokens: 50, ...more }), {
      authorization: `Bearer ${key}`,
      ...headers,
    });
  return { call, ids };
}

async function countsOf(id: number | undefined) {
  const found = await node.live.budgets.read(ACCOUNT_ID);
  const one = found.find(({ budgetId }) => budgetId === id);
  return one && { used: one.used, held: one.held };
}

const finalOf = async (response: Response) =>
  (await node.journalledFinal(response.headers.get('x-request-id'))) as { budgets?: string };

describe('a request of a key with budgets', () => {
  test('is held and charged in each, and its final names them', async () => {
    const { call, ids } = await budgeted(
      { amount: 100_000 },
      { unit: 'requests', amount: 5 },
      { unit: 'money', amount: 10_000_000 },
    );
    for (const more of [{}, { stream: true }]) {
      const response = await call(more);
      expect(response.status).toBe(200);
      await response.text();
      const [tokens, requests, money] = ids;
      expect((await finalOf(response)).budgets).toBe(
        `${tokens}:0:1000000,${requests}:0:0,${money}:0:2000000`,
      );
    }
    await until('both are settled', async () => (await countsOf(ids[0]))?.held === 0);
    expect(await Promise.all(ids.map(countsOf))).toEqual([
      { used: 2 * CHARGE, held: 0 },
      { used: 2, held: 0 },
      { used: 4 * CHARGE, held: 0 },
    ]);
  });

  test('is counted by the tokens that its upstream reports, whatever their weights', async () => {
    const { call, ids } = await budgeted({ unit: 'tokens', amount: 100_000 });
    for (const more of [{}, { stream: true }]) {
      const response = await call(more);
      await response.text();
      expect((await finalOf(response)).budgets).toMatch(
        new RegExp(String.raw`^${ids[0]}:0:1000000\+\d+$`),
      );
    }
    await until('both are settled', async () => (await countsOf(ids[0]))?.held === 0);
    expect(await countsOf(ids[0])).toEqual({ used: 2 * CHARGE, held: 0 });
  });

  test.each([
    ['/v1/chat/completions', 'insufficient_quota', 'insufficient_quota'],
    ['/v1/messages', 'rate_limit_error', undefined],
  ])(
    'is refused at %s once one is used up, with the time at which it starts again',
    async (path, type, code) => {
      const end = Math.floor(Date.now() / 1_000) + 86_400;
      const { call, upstream, ids } = await budgeted({
        unit: 'requests',
        amount: 1,
        starts: [1, end],
      });
      await (await call()).text();
      await until('it is settled', async () => (await countsOf(ids[0]))?.used === 1);
      const refused = await call({}, path);
      const { error } = (await refused.json()) as { error: Record<string, unknown> };
      expect([refused.status, refused.headers.get('x-should-retry')]).toEqual([429, 'false']);
      const wait = Number(refused.headers.get('retry-after'));
      expect(Math.abs(Date.now() / 1_000 + wait - end)).toBeLessThan(30);
      expect([error['type'], error['code']]).toEqual([type, code]);
      expect(error['message']).toContain(`Budget ${ids[0]} `);
      expect(error['message']).toContain('1 of 1 (requests)');
      expect(error['message']).toContain(new Date(end * 1_000).toISOString());
      expect(upstream.requests.length).toBe(1);
    },
  );

  test('is refused without a time where it must hold more than a whole budget', async () => {
    const { call, ids } = await budgeted({ amount: 1, starts: [1, 4_000_000_000] });
    const refused = await call();
    const { error } = (await refused.json()) as { error: Record<string, unknown> };
    expect([refused.status, refused.headers.get('x-should-retry')]).toEqual([429, 'false']);
    expect(refused.headers.get('retry-after')).toBeNull();
    expect(error['message']).toContain(`Budget ${ids[0]} `);
    expect(error['message']).toContain('more than all of its 1 (charged tokens)');
  });

  test('that others hold may be tried again, and an output that it cannot pay is shortened', async () => {
    const { call, upstream } = await budgeted({ amount: 60 });
    const response = await call({ max_tokens: 5_000 });
    expect(response.status).toBe(200);
    const sent = JSON.parse(upstream.requests[0]?.body ?? '') as { max_tokens: number };
    expect(sent.max_tokens).toBeGreaterThan(0);
    expect(sent.max_tokens).toBeLessThan(60);
    await response.text();
  });
});

test('small requests use a budget up to less than what one of them must hold', async () => {
  const { call, ids } = await budgeted({ amount: 20 * CHARGE });
  let completed = 0;
  for (;;) {
    const response = await call();
    await response.text();
    if (response.status !== 200) break;
    completed += 1;
    await until('it is settled', async () => (await countsOf(ids[0]))?.held === 0);
  }
  // The completion counts a template of 32 tokens, 16 for the message, its bytes and a token of output.
  expect(completed).toBeGreaterThanOrEqual(16);
  expect(await countsOf(ids[0])).toEqual({ used: completed * CHARGE, held: 0 });
});

describe('a budget that falls back', () => {
  const falling = async (on: 'budget' | 'error') => {
    const other = await answering();
    const failover = { fallbacks: [{ model: other.model.name, on: [on] }] };
    const { model, upstream } = await answering({ failover });
    const budget = { unit: 'requests', amount: 1, models: model.name, action: 'fallback' } as const;
    const all = { unit: 'requests', amount: 2 };
    const { call, ids } = await keyWith(model, [budget, all]);
    await (await call()).text();
    await until('it is settled', async () => (await countsOf(ids[0]))?.used === 1);
    return { call, ids, other, upstream };
  };

  test('lets the model answer that its model falls back on, counted by the budgets of that one', async () => {
    const { call, ids, other, upstream } = await falling('budget');
    const response = await call();
    expect([response.status, await response.json()]).toMatchObject([
      200,
      { model: other.model.name },
    ]);
    expect(await finalOf(response)).toMatchObject({
      model_id: other.model.id,
      budgets: `${ids[1]}:0:0`,
      attempts: [{ status: 200 }],
    });
    expect([upstream.requests.length, other.upstream.requests.length]).toEqual([1, 1]);
    await until('it is settled', async () => (await countsOf(ids[1]))?.used === 2);
    const before = await scrape();
    // The budget of all models refuses the other model, too: the first refusal is answered.
    const refused = await call();
    const text = await refused.text();
    expect([refused.status, text.includes(`Budget ${ids[0]} `)]).toEqual([429, true]);
    const refusals = (metrics: string): number =>
      Number(
        /tollgate_budget_refusals_total\{scope="all",unit="requests",worker="0"\} (\d+)/.exec(
          metrics,
        )?.[1] ?? 0,
      );
    expect(refusals(await scrape())).toBe(refusals(before) + 1);
  });

  test('refuses where the model names none for that', async () => {
    const { call, other } = await falling('error');
    expect((await call()).status).toBe(429);
    expect(other.upstream.requests.length).toBe(0);
  });
});

describe('a budget of each session or end user', () => {
  const running = (run: string) => ['/v1/chat/completions', { 'x-tollgate-run': run }] as const;

  test('stops the run that loops, and no other run of the key', async () => {
    const { call, upstream } = await budgeted({ unit: 'requests', amount: 2, each: 's' });
    const isSettled = async (run: string): Promise<boolean> => {
      const counted = await node.live.budgets.read(
        ACCOUNT_ID,
        scopeValue(ACCOUNT_ID, 'session', run),
      );
      return counted.every(({ held }) => held === 0);
    };
    const statuses: number[] = [];
    for (const run of ['loop', 'loop', 'loop', 'calm']) {
      const response = await call({}, ...running(run));
      statuses.push(response.status);
      const text = await response.text();
      if (response.status === 429) expect(text).toContain('of this session');
      await until('it is settled', () => isSettled(run));
    }
    expect(statuses).toEqual([200, 200, 429, 200]);
    expect(upstream.requests.length).toBe(3);
  });

  test.each([
    ['the header x-tollgate-end-user', '/v1/messages', {}, { 'x-tollgate-end-user': 'ann' }],
    ['safety_identifier', '/v1/chat/completions', { safety_identifier: 'ann', user: 'x' }, {}],
    ['user', '/v1/chat/completions', { user: 'ann' }, {}],
    ['metadata.user_id', '/v1/messages', { metadata: { user_id: 'ann' } }, {}],
  ])('takes the end user from %s', async (_name, path, more, headers) => {
    const { call, ids } = await budgeted({ amount: 100_000, each: 'u', isRequired: true });
    const response = await call(more, path, headers);
    await response.text();
    const value = scopeValue(ACCOUNT_ID, 'end_user', 'ann');
    expect((await finalOf(response)).budgets).toBe(`${ids[0]}:0:1000000:${value}`);
  });

  test('is refused with the way to name one where it must be named', async () => {
    const { call, ids } = await budgeted({ amount: 100_000, each: 'u', isRequired: true });
    const refused = await call();
    const { error } = (await refused.json()) as { error: Record<string, unknown> };
    expect([refused.status, error['code']]).toEqual([400, 'budget_value_missing']);
    expect(error['message']).toContain(`Budget ${ids[0]} `);
    expect(error['message']).toContain('x-tollgate-end-user');
  });
});
