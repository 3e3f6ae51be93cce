import { describe, expect, test } from '@jest/globals';
import { compileSnapshot } from '@tollgate/snapshot';
import { readRoutingRows } from '../snapshots/read-routing-rows.sql.ts';
import { plane, ledger, user, market } from './models-under-test.ts';

const changeSeq = async () =>
  Number((await ledger.query('SELECT change_seq FROM fleet_settings'))[0].change_seq);

describe('the catalogue', () => {
  test('needs a name and a price to be for sale; each token counts as one', async () => {
    const before = await changeSeq();
    const { status, body } = await ledger.asAdmin('POST', '/models', {
      name: 'gpt-plain',
      price: { price_per_million: '2.5' },
      is_on_shelf: true,
    });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      name: 'gpt-plain',
      display_name: 'gpt-plain',
      kind: 'chat',
      owned_by: 'tollgate',
      is_on_shelf: true,
      context_window: null,
      max_output_tokens: null,
    });
    expect(await changeSeq()).toBeGreaterThan(before);
    const shown = (await market()).find((model: { name: string }) => model.name === 'gpt-plain');
    expect(shown?.price).toEqual({
      price_per_million: '2.5',
      currency: 'USD',
      weight_input: '1',
      weight_output: '1',
      weight_cache_read: '1',
      weight_cache_write: '1',
      weight_cache_write_1h: null,
      weight_audio_input: null,
      weight_audio_output: null,
      weight_image_input: null,
      weight_image_output: null,
      weight_searches: null,
      free: false,
      multipliers: {},
      tiers: [],
    });
  });

  test('of a known name needs nothing typed; what is given counts more, and an import refreshes the table', async () => {
    const create = async (name: string, more: object = {}) =>
      (await ledger.asAdmin('POST', '/models', { name, ...more })).body;
    expect(await create('claude-haiku-4-5-20251001', { max_output_tokens: 9_000 })).toMatchObject({
      owned_by: 'anthropic',
      context_window: 200_000,
      max_output_tokens: 9_000,
      default_output_tokens: 16_000,
    });
    const shipped = (await ledger.asAdmin('GET', '/models/families')).body;
    expect(shipped).toMatchObject({ format: 1, imported_at: null });
    const [first] = shipped.families;
    const { imported_at: _, ...table } = shipped;
    const family = { ...first, family: 'new', names: ['new-model'], context_window: 77_000 };
    const { status, body } = await ledger.asAdmin('PUT', '/models/families', {
      ...table,
      families: [family],
    });
    expect([status, body.families]).toEqual([200, [family]]);
    expect(body.imported_at).not.toBeNull();
    expect(await create('new-model-2')).toMatchObject({ context_window: 77_000 });
    expect(await create('claude-haiku-4-5')).toMatchObject({ context_window: null });
    await ledger.query('DELETE FROM model_families');
  });

  test('the family of the model of an upstream says where its output limit goes and how large its window is, also after an import', async () => {
    const admin = async <Path extends string>(path: Path, fields: object) =>
      (await ledger.asAdmin('POST', path, fields)).body;
    const { id: model_id } = await admin('/models', {
      name: 'limit-field',
      price: { price_per_million: '1' },
    });
    const { id: upstream_id } = await admin('/upstreams', {
      name: 'limit-field',
      protocol: 'openai',
      base_url: 'https://api.openai.com/v1',
    });
    const { id } = await admin('/routing', { model_id, upstream_id, upstream_model: 'gpt-5-mini' });
    const limitField = async () => {
      const { routes } = await readRoutingRows(plane.dataSource.manager);
      return routes.find((route) => route.id === id)?.familyLimitField;
    };
    expect(await limitField()).toBe('max_completion_tokens');
    const window = async () => {
      const compiled = compileSnapshot(await readRoutingRows(plane.dataSource.manager));
      return compiled.models.find((model) => model.id === model_id)?.context_window;
    };
    expect(await window()).toBe(400_000);
    const { imported_at: _, ...table } = (await ledger.asAdmin('GET', '/models/families')).body;
    const [first] = table.families;
    await ledger.asAdmin('PUT', '/models/families', { ...table, families: [first] });
    expect(await limitField()).toBeNull();
    expect(await window()).toBeNull();
    await ledger.query('DELETE FROM model_families');
  });

  test('names of two models differ by more than case; a model may have its own name in another', async () => {
    const { body } = await ledger.asAdmin('POST', '/models', {
      name: 'Cased-Model',
      aliases: ['cased-model', 'other-alias'],
    });
    for (const taken of [{ name: 'CASED-MODEL' }, { name: 'new', aliases: ['Other-Alias'] }])
      expect(await ledger.asAdmin('POST', '/models', taken)).toMatchObject({
        status: 409,
        body: { code: 'model_name_taken', errors: [{ field: 'name' }] },
      });
    expect(
      await ledger.asAdmin('PUT', `/models/${body.id}`, { name: 'CASED-model' }),
    ).toMatchObject({ status: 200 });
  });

  test('a name is taken once, and free again after deletion', async () => {
    const { body } = await ledger.asAdmin('POST', '/models', { name: 'twice' });
    expect(await ledger.asAdmin('POST', '/models', { name: 'twice' })).toMatchObject({
      status: 409,
      body: { code: 'model_name_taken', errors: [{ field: 'name' }] },
    });
    expect((await ledger.asAdmin('DELETE', `/models/${body.id}`)).status).toBe(204);
    expect((await ledger.asAdmin('POST', '/models', { name: 'twice' })).status).toBe(201);
    expect((await ledger.asAdmin('DELETE', `/models/${body.id}`)).status).toBe(404);
  });

  test('an alias is one more name: taken once among names and aliases, free again when given up or deleted', async () => {
    const { status, body } = await ledger.asAdmin('POST', '/models', {
      name: 'real',
      aliases: ['fast', 'cheap'],
      price: { price_per_million: 1 },
    });
    expect([status, body.aliases]).toEqual([201, ['fast', 'cheap']]);
    const taken = { status: 409, body: { code: 'model_name_taken' } };
    for (const other of [
      { name: 'fast' },
      { name: 'other', aliases: ['cheap'] },
      { name: 'other', aliases: ['real'] },
      { name: 'other', aliases: ['other'] },
    ])
      expect(await ledger.asAdmin('POST', '/models', other)).toMatchObject(taken);
    const { body: second } = await ledger.asAdmin('POST', '/models', {
      name: 'second',
      price: { price_per_million: 1 },
      is_on_shelf: true,
    });
    expect(await ledger.asAdmin('PUT', `/models/${second.id}`, { name: 'fast' })).toMatchObject(
      taken,
    );
    expect(
      (await ledger.asAdmin('PUT', `/models/${body.id}`, { aliases: ['cheap'] })).body.aliases,
    ).toEqual(['cheap']);
    expect(
      (await ledger.asAdmin('PUT', `/models/${second.id}`, { aliases: ['fast'] })).status,
    ).toBe(200);
    expect((await ledger.asAdmin('DELETE', `/models/${body.id}`)).status).toBe(204);
    expect(
      (await ledger.asAdmin('PUT', `/models/${second.id}`, { aliases: ['fast', 'cheap'] })).body
        .aliases,
    ).toEqual(['fast', 'cheap']);
    expect(
      (await market()).find((one: { name: string }) => one.name === 'second')?.aliases,
    ).toEqual(['fast', 'cheap']);
  });

  test('of two models that take one alias at the same moment, one is refused', async () => {
    const answers = await Promise.all(
      ['left', 'right'].map((name) =>
        ledger.asAdmin('POST', '/models', { name, aliases: ['contested'] }),
      ),
    );
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 409]);
  });

  test.each([
    { name: 'x', aliases: ['y', 'y'] },
    { name: 'x', aliases: ['a,b'] },
    { name: 'x', aliases: 'y' },
    {},
    { name: '' },
    { name: 'a,b' },
    { name: 'gpt*' },
    { name: 'a b' },
    { name: 'a\r\nb' },
    { name: 5 },
    { name: 'x', kind: 'video' },
    { name: 'x', context_window: 0 },
    { name: 'x', id: 1 },
    { name: 'x', max_output_tokens: '5' },
    { name: 'x', price: { price_per_million: 0 } },
    { name: 'x', price: { price_per_million: 1, free: true } },
    { name: 'x', price: { price_per_million: 1, weight_input: 0, weight_output: 0 } },
    { name: 'x', price: {} },
    { name: 'x', price: '1' },
    { name: 'x', is_on_shelf: 'true' },
  ])('refuses a model with %j', async (body) => {
    expect((await ledger.asAdmin('POST', '/models', body)).status).toBe(400);
  });

  test('update is partial, the shelf idempotent, and off the shelf is out of the market', async () => {
    const { body: model } = await ledger.asAdmin('POST', '/models', {
      name: 'shelf',
      max_output_tokens: 10,
      price: { price_per_million: 1 },
      is_on_shelf: true,
    });
    expect(
      (await ledger.asAdmin('PUT', `/models/${model.id}`, { display_name: 'Shelf!' })).body,
    ).toMatchObject({ name: 'shelf', display_name: 'Shelf!', max_output_tokens: 10 });
    for (const verb of ['disable', 'disable'] as const)
      expect(await ledger.asAdmin('POST', `/models/${model.id}/${verb}`)).toMatchObject({
        status: 200,
        body: { is_on_shelf: false },
      });
    expect((await market()).map((one: { name: string }) => one.name)).not.toContain('shelf');
    expect(await ledger.asAdmin('POST', `/models/${model.id}/enable`)).toMatchObject({
      status: 200,
      body: { is_on_shelf: true },
    });
    expect((await ledger.asAdmin('GET', '/models?is_on_shelf=true&q=shelf')).body).toMatchObject({
      total: 1,
    });
    expect((await ledger.asAdmin('PUT', '/models/999999', { display_name: 'x' })).status).toBe(404);
  });

  test('models/my, market and pricing are not taken for ids', async () => {
    for (const path of ['/models/my', '/models/market', '/models/pricing'])
      expect((await plane.call('GET', path, { token: user.token })).status).toBe(200);
    expect((await plane.call('GET', '/models', { token: user.token })).status).toBe(403);
  });
});
