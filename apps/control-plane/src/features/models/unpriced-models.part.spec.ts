import { describe, expect, test } from '@jest/globals';
import { plane, ledger, user, market } from './models-under-test.ts';

describe('a model without a price', () => {
  const unpriced = async (name: string, extra: object = {}) =>
    (await ledger.asAdmin('POST', '/models', { name, ...extra })).body;
  const refused = { status: 409, body: { code: 'model_not_priced' } };
  const enable = (id: number) => ledger.asAdmin('POST', `/models/${id}/enable`);

  test('is not for sale and cannot be bought, whatever is asked for', async () => {
    const model = await unpriced('unpriced');
    expect(model.is_on_shelf).toBe(false);
    expect((await market()).map((one: { name: string }) => one.name)).not.toContain('unpriced');
    const body = { model_id: model.id, tokens: 1_000_000_000_000 };
    expect(
      (await plane.call('POST', '/models/subscribe', { token: user.token, body })).status,
    ).toBe(404);
    expect(await enable(model.id)).toMatchObject(refused);
    expect(
      await ledger.asAdmin('POST', '/models', { name: 'at-once', is_on_shelf: true }),
    ).toMatchObject(refused);
    expect((await ledger.asAdmin('GET', '/models?q=at-once')).body.total).toBe(0);
  });

  test('goes on the shelf once a price is in force, not while one is to come', async () => {
    const model = await unpriced('priced-later');
    const price = { model_id: model.id, price_per_million: '3' };
    const effective_at = new Date(Date.now() + 3_600_000).toISOString();
    await ledger.asAdmin('POST', '/models/pricing', { ...price, effective_at });
    expect(await enable(model.id)).toMatchObject(refused);
    await ledger.asAdmin('POST', '/models/pricing', price);
    expect(await enable(model.id)).toMatchObject({ status: 200, body: { is_on_shelf: true } });
  });

  test('is given away only when that is declared, and only so many tokens an account', async () => {
    const model = await unpriced('gift');
    const price = { model_id: model.id, price_per_million: 0, free: true };
    expect(await ledger.asAdmin('POST', '/models/pricing', price)).toMatchObject({
      status: 201,
      body: { free: true },
    });
    const other = await unpriced('gift-2', {
      price: { price_per_million: '0', free: true },
      is_on_shelf: true,
    });
    expect((await enable(model.id)).status).toBe(200);
    const taker = await ledger.account('0');
    const buy = (verb: string, id: number, tokens: number) =>
      plane.call('POST', `/models/${verb}`, {
        token: taker.token,
        body: { model_id: id, tokens },
      });
    const most = 10_000_000;
    const beyond = { status: 409, body: { code: 'free_tokens_limit' } };
    expect(await buy('subscribe', model.id, most + 1)).toMatchObject(beyond);
    expect((await buy('subscribe', model.id, most - 10)).status).toBe(201);
    expect(await buy('subscribe', other.id, 11)).toMatchObject(beyond);
    const halves = await Promise.all([
      buy('subscribe', other.id, 6),
      buy('renew', model.id, 6),
      buy('renew', model.id, 6),
    ]);
    expect(halves.filter(({ status }) => status < 300)).toHaveLength(1);
  });
});
