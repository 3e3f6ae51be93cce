import { describe, expect, test } from '@jest/globals';
import { issueApiKey, parseApiKey } from '@tollgate/contracts';
import { charged, chat, HONEST, node, upstreamSays } from './security-under-test.ts';

describe('what a request costs', () => {
  test.each([
    ['negative', { prompt_tokens: -5, completion_tokens: -1_000, total_tokens: -1_005 }],
    ['absurd', { prompt_tokens: 1e15, completion_tokens: 1e15, total_tokens: 2e15 }],
    ['no numbers', { prompt_tokens: 'NaN', completion_tokens: null }],
    ['beyond exact', { prompt_tokens: 2 ** 53, completion_tokens: 1, total_tokens: 1 }],
    ['all zero', { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }],
    [
      'on a prototype',
      JSON.parse('{"__proto__":{"prompt_tokens":5,"completion_tokens":5}}') as object,
    ],
  ])(
    'S27: a report that is %s neither raises the balance nor empties it: the gateway counts by itself',
    async (_kind, lie) => {
      upstreamSays.usage = lie;
      const cost = await charged(() => node.post('/v1/chat/completions', chat()));
      expect(cost).toBeGreaterThan(0);
      expect(cost).toBeLessThan(20);
    },
  );

  test('S38: a large body is metered and checked like a small one', async () => {
    upstreamSays.usage = HONEST;
    const large = { messages: [{ role: 'user', content: 'word '.repeat(400_000) }] };
    expect(await charged(() => node.post('/v1/chat/completions', chat(large)))).toBe(16);
    for (const wrong of [{ temperature: 9 }, { max_tokens: -1 }, { n: 1e9 }])
      expect((await node.post('/v1/chat/completions', chat({ ...large, ...wrong }))).status).toBe(
        400,
      );
    const disabled = await node.putKey({ status: 'disabled' });
    expect(
      (
        await node.post('/v1/chat/completions', chat(large), {
          authorization: `Bearer ${disabled.key}`,
        })
      ).status,
    ).toBe(401);
  });

  test('a prompt hidden where only the upstream looks is charged as it reports', async () => {
    upstreamSays.usage = { prompt_tokens: 250_000, completion_tokens: 5, total_tokens: 250_005 };
    expect(
      await charged(() =>
        node.post(
          '/v1/chat/completions',
          chat({ a_field_of_the_upstream: 'word '.repeat(250_000) }),
        ),
      ),
    ).toBe(250_005);
  });
});

describe('who may call', () => {
  test('S16: a token of another kind is no key', async () => {
    const forged = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${Buffer.from('{"sub":"1"}').toString('base64url')}.`;
    for (const authorization of [
      `Bearer ${forged}`,
      `Basic ${Buffer.from('admin:admin').toString('base64')}`,
      'Bearer',
      `Bearer ${node.apiKey} x`,
      `Bearer ${node.apiKey.slice(0, -1)}`,
    ]) {
      expect([
        authorization,
        (await node.post('/v1/chat/completions', chat(), { authorization })).status,
      ]).toEqual([authorization, 401]);
    }
  });

  test('S24, S46: a key names its account, and a key with another account written into it is not valid', async () => {
    const { key } = issueApiKey(8);
    const moved = node.apiKey.replace(/^sk-tg-[0-9a-z]+-/, key.slice(0, key.indexOf('-', 6) + 1));
    expect(parseApiKey(moved)?.accountId).toBe(8);
    expect(
      (await node.post('/v1/chat/completions', chat(), { authorization: `Bearer ${moved}` }))
        .status,
    ).toBe(401);
  });

  test('S17: a key, an account or a subscription taken away is refused with the very next request', async () => {
    upstreamSays.usage = HONEST;
    const { key, hash } = await node.putKey({});
    const status = async () =>
      (await node.post('/v1/chat/completions', chat(), { authorization: `Bearer ${key}` })).status;
    expect(await status()).toBe(200);
    await node.live.putKey(
      node.keyRecord({ keyHash: hash, id: 99, status: 'disabled', revision: 2 }),
    );
    expect(await status()).toBe(401);
    await node.live.putKey(
      node.keyRecord({ keyHash: hash, id: 99, revision: 3, allowedModels: 'other-*' }),
    );
    expect(await status()).toBe(403);
  });
});
