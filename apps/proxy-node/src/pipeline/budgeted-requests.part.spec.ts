import { describe, expect, test } from '@jest/globals';
import { until } from '@tollgate/harness';
import { ACCOUNT_ID } from '../testing/node-under-test.ts';
import { ask, COMPLETION, json, node, STREAM, upstreamOf } from './pipeline-under-test.ts';

/** The demo answer has 11 tokens of input and 5 of output. */
const CHARGE = 16;
let lastBudget = 0;

interface Budget {
  unit?: string;
  amount: number;
  starts?: readonly number[];
}

/** A key with these budgets, and a model that answers. */
async function budgeted(...budgets: Budget[]) {
  const upstream = await upstreamOf((response, body) =>
    body.includes('"stream":true')
      ? response.writeHead(200, { 'content-type': 'text/event-stream' }).end(STREAM.join(''))
      : json(response, COMPLETION),
  );
  const model = await node.addModel([{ baseUrl: upstream.baseUrl, protocol: 'openai' }]);
  const ids: number[] = [];
  const list = budgets.map(({ unit = 'charged_tokens', amount, starts = [0] }) => {
    ids.push((lastBudget += 1));
    const begins = starts.map((start) => String(start).padStart(10, '0')).join('');
    return [lastBudget, unit, amount, begins, '', 'refuse', {}];
  });
  const { key } = await node.putKey({ budgets: JSON.stringify(list) });
  const call = (more: object = {}, path = '/v1/chat/completions') =>
    node.post(path, ask(model, { max_tokens: 50, ...more }), {
      authorization: `Bearer ${key}`,
    });
  return { model, upstream, call, ids };
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
      expect([error['type'], error['code']]).toEqual([type, code]);
      expect(error['message']).toContain(`Budget ${ids[0]} `);
      expect(error['message']).toContain('1 of 1 (requests)');
      expect(error['message']).toContain(new Date(end * 1_000).toISOString());
      expect(upstream.requests.length).toBe(1);
    },
  );

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
