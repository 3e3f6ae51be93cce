import { describe, expect, test } from '@jest/globals';
import { uuidv7 } from '../../../platform/http/visitor.ts';
import { reapEvent, usageEvent } from '../../../testing/ledger-under-test.ts';
import type { Answer } from '../../../testing/control-plane-under-test.ts';
import type { ApiBody } from '../../../testing/api-body.ts';
import { plane, ledger, worker, subscribed, get } from './usage-api-under-test.ts';

type UsageLogPage = Answer<ApiBody<'GET', '/usage/logs'>>;

describe('usage/logs', () => {
  test('shows one row a request, a corrected one as its correction says, newest first', async () => {
    const parts = await subscribed();
    const [first, second, third] = [
      uuidv7(Date.now() - 3_000),
      uuidv7(Date.now() - 2_000),
      uuidv7(Date.now() - 1_000),
    ];
    await worker.process([
      usageEvent(10, { ...parts, rid: first }),
      reapEvent(80, { ...parts, rid: second }),
      usageEvent(50, { ...parts, rid: second, seq: 1, delta: -30 }),
      reapEvent(5, { ...parts, rid: third }),
    ]);
    const { body } = await get(`/usage/logs?user_id=${parts.account.id}`, plane.adminToken);
    expect(body.next_cursor).toBeNull();
    expect(body.data).toMatchObject([
      { rid: third, outcome: 'node_lost', charge: 5, input_tokens: null, is_corrected: false },
      {
        rid: second,
        outcome: 'completed',
        charge: 50,
        input_tokens: 50,
        is_corrected: true,
        model: parts.model.name,
        route: [{ upstream_id: 1, status: 200 }],
      },
      {
        rid: first,
        outcome: 'completed',
        charge: 10,
        status: 200,
        first_token_ms: 80,
        duration_ms: 130,
        basis: 'reported',
      },
    ]);
  });

  test('pages by cursor without gaps or repeats, for one account and for all', async () => {
    const parts = await subscribed();
    const rids = Array.from({ length: 23 }, (_, index) => uuidv7(Date.now() - index * 3_000_000));
    await worker.process(rids.map((rid) => usageEvent(1, { ...parts, rid })));
    for (const [token, filter] of [
      [parts.account.token, ''],
      [plane.adminToken, `&model_id=${parts.model.id}`],
    ] as const) {
      const seen: string[] = [];
      for (let cursor: string | null = ''; cursor !== null;) {
        const { body }: UsageLogPage = await get(
          `/usage/logs?page_size=5${filter}${cursor ? `&cursor=${cursor}` : ''}`,
          token,
        );
        seen.push(...body.data.map((row: { rid: string }) => row.rid));
        cursor = body.next_cursor;
      }
      expect(seen).toEqual(rids);
    }
  });

  test('filters by key, model, upstream, node, outcome, status and time', async () => {
    const parts = await subscribed();
    const at = (ago: number) => uuidv7(Date.now() - ago);
    await worker.process([
      usageEvent(1, { ...parts, rid: at(10_000), keyId: 7 }),
      usageEvent(2, { ...parts, rid: at(9_000), final: { upstream_id: 5, node: 'node-x:1' } }),
      usageEvent(3, { ...parts, rid: at(8_000), final: { outcome: 'client_closed', status: 499 } }),
      usageEvent(4, { ...parts, rid: at(7_200_000) }),
    ]);
    const charges = async (filter: string) =>
      (
        await get(`/usage/logs?user_id=${parts.account.id}&${filter}`, plane.adminToken)
      ).body.data.map((row: { charge: number }) => row.charge);
    expect(await charges('key_id=7')).toEqual([1]);
    expect(await charges('upstream_id=5')).toEqual([2]);
    expect(await charges('node=node-x')).toEqual([2]);
    expect(await charges('outcome=client_closed')).toEqual([3]);
    expect(await charges('status=499')).toEqual([3]);
    expect(await charges(`to=${new Date(Date.now() - 3_600_000).toISOString()}`)).toEqual([4]);
    expect(await charges(`from=${new Date(Date.now() - 3_600_000).toISOString()}`)).toEqual([
      3, 2, 1,
    ]);
    expect(await charges('model_id=999999')).toEqual([]);
    for (const bad of [
      'status=abc',
      'from=yesterday',
      'outcome=unknown',
      'surprise=1',
      'cursor=zzz',
      'page_size=0',
    ])
      expect((await get(`/usage/logs?${bad}`, parts.account.token)).status).toBe(400);
  });

  test('an administrator finds the requests of a key of any owner, page by page', async () => {
    const parts = await subscribed();
    const { body: key } = await plane.call('POST', '/keys', {
      token: parts.account.token,
      body: { name: 'searched' },
    });
    const rids = Array.from({ length: 7 }, (_, index) => uuidv7(Date.now() - index * 30_000_000));
    await worker.process([
      ...rids.map((rid) => usageEvent(1, { ...parts, rid, keyId: key.id })),
      usageEvent(1, { ...parts, keyId: key.id + 1 }),
    ]);
    const seen: string[] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const { body }: UsageLogPage = await get(
        `/usage/logs?page_size=3&key_id=${key.id}${cursor ? `&cursor=${cursor}` : ''}`,
        plane.adminToken,
      );
      seen.push(...body.data.map((row: { rid: string }) => row.rid));
      cursor = body.next_cursor;
    }
    expect(seen).toEqual(rids);
    expect((await get('/usage/logs?key_id=999999', plane.adminToken)).body.data).toEqual([]);
  });

  test('exports all matching requests as CSV', async () => {
    const parts = await subscribed();
    await worker.process(
      Array.from({ length: 1_203 }, (_, index) =>
        usageEvent(1, { ...parts, rid: uuidv7(Date.now() - index) }),
      ),
    );
    const answer = await get('/usage/logs?format=csv', parts.account.token);
    expect(answer.headers.get('content-type')).toMatch(/^text\/csv/);
    const lines = String(answer.body).trimEnd().split('\r\n');
    expect(lines).toHaveLength(1_204);
    expect(new Set(lines).size).toBe(1_204);
  });

  test("another account's usage is unreachable by id and by filter", async () => {
    const [mine, theirs] = [await subscribed(), await subscribed()];
    const event = usageEvent(1, theirs);
    await worker.process([event]);
    expect((await get('/usage/logs', mine.account.token)).body.data).toEqual([]);
    expect((await get(`/usage/logs?key_id=1`, mine.account.token)).body.data).toEqual([]);
    expect((await get(`/usage/logs?user_id=${theirs.account.id}`, mine.account.token)).status).toBe(
      404,
    );
    expect(
      (await get(`/usage/statistics?user_id=${theirs.account.id}`, mine.account.token)).status,
    ).toBe(404);
    expect((await get(`/usage/logs/${event.rid}/receipt`, mine.account.token)).status).toBe(404);
    expect((await get(`/usage/logs/${event.rid}/receipt`, plane.adminToken)).status).toBe(200);
  });
});

describe('a receipt', () => {
  test('explains the charge to the last decimal', async () => {
    const parts = await subscribed();
    const price = (
      await ledger.asAdmin('POST', '/models/pricing', {
        model_id: parts.model.id,
        price_per_million: 2,
        weight_output: '3.5',
        weight_cache_read: '0.1',
      })
    ).body;
    const final = {
      price_version_id: price.id,
      input_tokens: 10,
      output_tokens: 3,
      cache_read_tokens: 7,
      charge: 22,
    };
    const event = usageEvent(22, { ...parts, final });
    await worker.process([event]);
    expect((await get(`/usage/logs/${event.rid}/receipt`, parts.account.token)).body).toMatchObject(
      {
        charge: 22,
        sum: '21.2',
        lines: [
          { class: 'input', unit: 'token', count: 10, weight: '1', charged: '10' },
          { class: 'cache_read', unit: 'token', count: 7, weight: '0.1', charged: '0.7' },
          { class: 'cache_write', unit: 'token', count: 0, weight: '1', charged: '0' },
          { class: 'output', unit: 'token', count: 3, weight: '3.5', charged: '10.5' },
        ],
        price: { id: price.id },
        events: [{ seq: 0, kind: 'usage', charged_tokens: 22 }],
      },
    );
  });

  test('shows dearer services in the weights and names their multipliers', async () => {
    const parts = await subscribed();
    const price = (
      await ledger.asAdmin('POST', '/models/pricing', {
        model_id: parts.model.id,
        price_per_million: 2,
        weight_output: '3.5',
        multipliers: { 'service_tier=priority': '1.75', 'speed=fast': 2 },
      })
    ).body;
    const final = {
      price_version_id: price.id,
      input_tokens: 10,
      output_tokens: 3,
      charge: 36,
      premiums: ['service_tier=priority'],
    };
    const event = usageEvent(36, { ...parts, final });
    await worker.process([event]);
    const { body } = await get(`/usage/logs/${event.rid}/receipt`, parts.account.token);
    expect(body).toMatchObject({ charge: 36, sum: '35.875', premiums: ['service_tier=priority'] });
    expect(body.lines[0]).toEqual({
      class: 'input',
      unit: 'token',
      count: 10,
      weight: '1.75',
      charged: '17.5',
    });
    expect(body.explanation).toContain('multiplied for service_tier=priority (x 1.75)');
  });

  test('names the tier of a long prompt, whose weights its lines have, multiplied', async () => {
    const parts = await subscribed();
    const { body: price } = await ledger.asAdmin('POST', '/models/pricing', {
      model_id: parts.model.id,
      price_per_million: 2,
      multipliers: { 'speed=fast': 2 },
      tiers: [
        {
          above_prompt_tokens: 100,
          weights: {
            ...{ weight_input: '1.5', weight_output: 4 },
            ...{ weight_cache_read: '0.5', weight_cache_write: 1 },
          },
        },
      ],
    });
    const receiptOf = async (cacheReads: number, charge: number) => {
      const final = {
        price_version_id: price.id,
        ...{ input_tokens: 1, cache_read_tokens: cacheReads, output_tokens: 1, charge },
        premiums: ['speed=fast'],
      };
      const event = usageEvent(charge, { ...parts, final });
      await worker.process([event]);
      return (await get(`/usage/logs/${event.rid}/receipt`, parts.account.token)).body;
    };
    expect(await receiptOf(99, 2 * 101)).toMatchObject({
      sum: '202',
      tier_above_prompt_tokens: null,
    });
    const longer = await receiptOf(100, 111);
    expect(longer).toMatchObject({ charge: 111, sum: '111', tier_above_prompt_tokens: 100 });
    expect(longer.lines[0]).toMatchObject({ class: 'input', weight: '3' });
    expect(longer.cache_saved).toBe('200');
    expect(longer.explanation).toContain(
      'above 100 prompt tokens, multiplied for speed=fast (x 2)',
    );
  });

  test.each([
    ['reading saves', { cache_read_tokens: 1_000, cache_write_tokens: 100, charge: 235 }, '875'],
    ['writing costs', { cache_read_tokens: 0, cache_write_tokens: 100, charge: 135 }, '-25'],
    ['no cache has a part', { cache_read_tokens: 0, cache_write_tokens: 0, charge: 10 }, null],
  ])('says what caching saved: %s', async (_, tokens, saved) => {
    const parts = await subscribed();
    const weights = { weight_cache_read: '0.1', weight_cache_write: '1.25' };
    const price = (
      await ledger.asAdmin('POST', '/models/pricing', {
        model_id: parts.model.id,
        price_per_million: 2,
        ...weights,
      })
    ).body;
    const final = { price_version_id: price.id, input_tokens: 10, output_tokens: 0, ...tokens };
    const event = usageEvent(tokens.charge, { ...parts, final });
    await worker.process([event]);
    const { body } = await get(`/usage/logs/${event.rid}/receipt`, parts.account.token);
    expect(body.cache_saved).toBe(saved);
  });

  test.each([
    'abc',
    '00000000-0000-4000-8000-000000000000',
    'ffffffff-ffff-7fff-bfff-ffffffffffff',
    uuidv7(Date.now()),
  ])('of %s is 404', async (rid) => {
    expect(await get(`/usage/logs/${rid}/receipt`, plane.adminToken)).toMatchObject({
      status: 404,
      body: { code: 'not_found' },
    });
  });
});
