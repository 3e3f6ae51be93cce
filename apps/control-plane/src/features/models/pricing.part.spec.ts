import { describe, expect, test } from '@jest/globals';
import { eventually } from '@tollgate/harness';
import { compileSnapshot } from '@tollgate/snapshot';
import { readRoutingRows } from '../snapshots/read-routing-rows.sql.ts';
import { plane, ledger, user } from './models-under-test.ts';

/** Counts the requests that wait for a model's row. */
const WAITING_FOR_MODELS =
  "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%\"models\"%'";

const TIER_WEIGHTS = {
  weight_input: '2',
  weight_output: '3',
  weight_cache_read: '0.2',
  weight_cache_write: '2.5',
};

describe('pricing', () => {
  test('adds immutable versions; the newest one that has begun is in force', async () => {
    const { body: model } = await ledger.asAdmin('POST', '/models', {
      name: 'priced',
      price: { price_per_million: 1 },
    });
    const later = new Date(Date.now() + 3_600_000).toISOString();
    await ledger.asAdmin('POST', '/models/pricing', {
      model_id: model.id,
      price_per_million: '2.5',
      weight_output: 4,
      weight_cache_read: '0.1',
    });
    expect(
      await ledger.asAdmin('POST', '/models/pricing', {
        model_id: model.id,
        price_per_million: 9,
        effective_at: later,
      }),
    ).toMatchObject({ status: 201, body: { effective_at: later, price_per_million: '9' } });
    const inForce = await plane.call('GET', `/models/pricing?model_id=${model.id}&in_force=true`, {
      token: user.token,
    });
    expect(inForce.body.data).toMatchObject([
      { price_per_million: '2.5', weight_input: '1', weight_output: '4', weight_cache_read: '0.1' },
    ]);
    expect((await ledger.asAdmin('GET', `/models/pricing?model_id=${model.id}`)).body.total).toBe(
      3,
    );
    await expect(
      ledger.query('UPDATE price_versions SET price_per_million = 0 WHERE model_id = $1', [
        model.id,
      ]),
    ).rejects.toThrow('append-only');
  });

  test('carries multipliers of dearer services into the snapshot, and a model its default output limit', async () => {
    const multipliers = { 'service_tier=priority': '1.75', 'server_tools=web_search': 2 };
    const { body: model } = await ledger.asAdmin('POST', '/models', {
      name: 'tiered',
      default_output_tokens: 900,
      price: { price_per_million: 1, multipliers },
    });
    expect(model.default_output_tokens).toBe(900);
    expect(
      (await ledger.asAdmin('GET', `/models/pricing?model_id=${model.id}`)).body.data,
    ).toMatchObject([
      { multipliers: { 'service_tier=priority': '1.75', 'server_tools=web_search': '2' } },
    ]);
    const rows = await readRoutingRows(plane.dataSource.manager);
    expect(compileSnapshot(rows).models.find(({ id }) => id === model.id)).toMatchObject({
      default_output_tokens: 900,
      prices: [
        {
          multipliers: { 'service_tier=priority': 1_750_000, 'server_tools=web_search': 2_000_000 },
        },
      ],
    });
    const { body: plain } = await ledger.asAdmin('POST', '/models', {
      name: 'untiered',
      price: { price_per_million: 1 },
    });
    const compiled = compileSnapshot(await readRoutingRows(plane.dataSource.manager));
    const document = compiled.models.find(({ id }) => id === plain.id);
    expect(document).not.toHaveProperty('default_output_tokens');
    expect(document?.prices[0]).not.toHaveProperty('multipliers');
  });

  test('carries the weights of long prompts into the snapshot, and answers them as they were set', async () => {
    const tiers = [
      {
        above_prompt_tokens: 200_000,
        weights: { ...TIER_WEIGHTS, weight_input: '2.50', weight_audio_input: null },
      },
      { above_prompt_tokens: 272_000, weights: { ...TIER_WEIGHTS, weight_audio_input: 7 } },
    ];
    const { body: model } = await ledger.asAdmin('POST', '/models', {
      name: 'longer-is-dearer',
      price: { price_per_million: 1, tiers },
    });
    const listed = await ledger.asAdmin('GET', `/models/pricing?model_id=${model.id}`);
    const [first, second] = listed.body.data[0].tiers;
    expect(first).toEqual({
      above_prompt_tokens: 200_000,
      weights: { ...TIER_WEIGHTS, weight_input: '2.5' },
    });
    expect(second?.weights).toEqual({ ...TIER_WEIGHTS, weight_audio_input: '7' });
    const rows = await readRoutingRows(plane.dataSource.manager);
    expect(
      compileSnapshot(rows).models.find(({ id }) => id === model.id)?.prices[0]?.tiers?.[0],
    ).toMatchObject({ above_prompt_tokens: 200_000, weights: { weight_input: 2_500_000 } });
  });

  test.each([
    [[{ above_prompt_tokens: 0, weights: TIER_WEIGHTS }], 'tiers.0.above_prompt_tokens'],
    [[{ above_prompt_tokens: '9', weights: TIER_WEIGHTS }], 'tiers.0.above_prompt_tokens'],
    [[{ above_prompt_tokens: 9, weights: { weight_input: 1 } }], 'tiers.0.weights.weight_output'],
    [
      [{ above_prompt_tokens: 9, weights: { ...TIER_WEIGHTS, weight_input: -1 } }],
      'tiers.0.weights.weight_input',
    ],
    [
      [{ above_prompt_tokens: 9, weights: { ...TIER_WEIGHTS, weight_input: 0, weight_output: 0 } }],
      'tiers.0.weights',
    ],
    [[9, 9].map((above) => ({ above_prompt_tokens: above, weights: TIER_WEIGHTS })), 'tiers'],
    [[9, 8].map((above) => ({ above_prompt_tokens: above, weights: TIER_WEIGHTS })), 'tiers'],
    [
      [1, 2, 3, 4, 5].map((above) => ({ above_prompt_tokens: above, weights: TIER_WEIGHTS })),
      'tiers',
    ],
  ])('refuses to take the tiers %j, naming the field', async (tiers, field) => {
    const [model] = (await ledger.asAdmin('GET', '/models')).body.data;
    const answer = await ledger.asAdmin('POST', '/models/pricing', {
      model_id: model.id,
      price_per_million: 1,
      tiers,
    });
    expect(answer.status).toBe(400);
    expect(answer.body.errors.map((fault: { field: string }) => fault.field)).toContain(field);
  });

  test('refuses tiers of a price that charges nothing', async () => {
    const [model] = (await ledger.asAdmin('GET', '/models')).body.data;
    const tiers = [{ above_prompt_tokens: 9, weights: TIER_WEIGHTS }];
    const price = { model_id: model.id, price_per_million: 0, free: true, tiers };
    expect(await ledger.asAdmin('POST', '/models/pricing', price)).toMatchObject({
      status: 400,
      body: { errors: [{ field: 'tiers' }] },
    });
  });

  test.each([
    { price_per_million: -1 },
    { price_per_million: 0 },
    { price_per_million: '0', free: false },
    { price_per_million: '0.000001', free: true },
    { price_per_million: 1, weight_input: 0, weight_output: 0 },
    { price_per_million: '1e3' },
    { price_per_million: 1e308 },
    { price_per_million: '0.0000001' },
    { price_per_million: 'NaN' },
    { price_per_million: null },
    {},
    { price_per_million: 1, weight_input: -1 },
    { price_per_million: 1, weight_input: '0.0000001' },
    { price_per_million: 1, weight_input: 1_000_001 },
    { price_per_million: 1, multipliers: { service_tier: 2 } },
    { price_per_million: 1, multipliers: { 'route=x': 2 } },
    { price_per_million: 1, multipliers: { 'speed=a b': 2 } },
    { price_per_million: 1, multipliers: { 'speed=fast': 0 } },
    { price_per_million: 1, multipliers: { 'speed=fast': -1 } },
    { price_per_million: 1, multipliers: { 'speed=fast': 1_001 } },
    { price_per_million: 1, multipliers: { 'speed=fast': '0.0000001' } },
    { price_per_million: 1, multipliers: ['speed=fast'] },
    { price_per_million: 1, multipliers: { 'service_tier=flex': '0.5' } },
    { price_per_million: 1, multipliers: { 'speed=fast': 6, 'speed=standard': 1 } },
    { price_per_million: 1, surprise: 1 },
    { price_per_million: 1, effective_at: '2020-01-01T00:00:00Z' },
    { price_per_million: 1, effective_at: 'soon' },
  ])('refuses to take the price %j', async (body) => {
    const [model] = (await ledger.asAdmin('GET', '/models')).body.data;
    expect(
      await ledger.asAdmin('POST', '/models/pricing', { model_id: model.id, ...body }),
    ).toMatchObject({ status: 400 });
  });

  test('is set only in place of the version that it names, and that no other has replaced', async () => {
    const { body: model } = await ledger.asAdmin('POST', '/models', {
      name: 'contested-price',
      price: { price_per_million: 1 },
    });
    const inForce = async (): Promise<number> =>
      (await ledger.asAdmin('GET', `/models/pricing?model_id=${model.id}&in_force=true`)).body
        .data[0].id;
    const replacing = async (replaces: number | null): Promise<number> =>
      (
        await ledger.asAdmin('POST', '/models/pricing', {
          model_id: model.id,
          price_per_million: 2,
          replaces,
        })
      ).status;
    const first = await inForce();
    expect(await replacing(null)).toBe(412);
    expect(await Promise.all([replacing(first), replacing(first)])).toEqual(
      expect.arrayContaining([201, 412]),
    );
    expect(await replacing(first)).toBe(412);
    expect(await replacing(await inForce())).toBe(201);
    const { body: bare } = await ledger.asAdmin('POST', '/models', { name: 'bare-of-price' });
    expect(
      await ledger.asAdmin('POST', '/models/pricing', {
        model_id: bare.id,
        price_per_million: 2,
        replaces: null,
      }),
    ).toMatchObject({ status: 201 });
  });

  describe('that waits while another is set', () => {
    /** Answers the status of a price that was asked for before, and judged after, another one was set; and the prices in force then. */
    async function setBehind(replaces?: 'first') {
      const { body: model } = await ledger.asAdmin('POST', '/models', {
        name: `awaited-price-${replaces}`,
        price: { price_per_million: 1 },
      });
      const inForce = async () =>
        (await ledger.asAdmin('GET', `/models/pricing?model_id=${model.id}&in_force=true`)).body
          .data;
      const [first] = await inForce();
      const asked = await plane.dataSource.transaction(async (tx) => {
        await tx.query('SELECT FROM models WHERE id = $1 FOR UPDATE', [model.id]);
        const waiting = ledger.asAdmin('POST', '/models/pricing', {
          ...{ model_id: model.id, price_per_million: 3 },
          ...(replaces && { replaces: first.id }),
        });
        // The question is asked outside the transaction, which would see the activity of its first look again.
        await eventually(async () =>
          expect(await plane.dataSource.query(WAITING_FOR_MODELS)).toEqual([{ count: '1' }]),
        );
        await tx.query(
          'INSERT INTO price_versions (model_id, price_per_million, effective_at) VALUES ($1, 2000000, clock_timestamp())',
          [model.id],
        );
        return { answer: waiting };
      });
      const { status } = await asked.answer;
      const prices = (await inForce()).map(
        (row: { price_per_million: string }) => row.price_per_million,
      );
      return { status, prices };
    }

    test('is refused when it names the version before that', async () => {
      expect(await setBehind('first')).toEqual({ status: 412, prices: ['2'] });
    });

    test('is in force afterwards when it names none', async () => {
      expect(await setBehind()).toEqual({ status: 201, prices: ['3'] });
    });
  });

  test('of an unknown model is 404', async () => {
    expect(
      (await ledger.asAdmin('POST', '/models/pricing', { model_id: 999_999, price_per_million: 1 }))
        .status,
    ).toBe(404);
  });
});
