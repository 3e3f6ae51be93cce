import { expect, test } from '@jest/globals';
import { createCustomer, subscribeWithKey } from '@tollgate/harness';
import type OpenAI from 'openai';
import { balanceOf } from './books.ts';
import {
  anthropic,
  chat,
  customer,
  openai,
  PATHS,
  say,
  tollgate,
  type Path,
} from './official-sdks-under-test.ts';

test('a key with rpm 3 lets exactly 3 through across both nodes, then says when to come back', async () => {
  const limited = (await customer.client.createKey({ name: 'three a minute', rpm: 3 })).key;
  const paths: Path[] = [
    'first node',
    'second node',
    'first node',
    'second node',
    'first node',
    'front door',
  ];
  const results = await Promise.allSettled(
    paths.map((path) =>
      openai(path, limited).chat.completions.create({
        model: chat.name,
        messages: say('@demo tokens=1'),
      }),
    ),
  );
  const refused = results.flatMap((result) =>
    result.status === 'rejected' ? [result.reason as InstanceType<typeof OpenAI.APIError>] : [],
  );
  expect(results.filter((result) => result.status === 'fulfilled')).toHaveLength(3);
  for (const error of refused) {
    expect(error).toMatchObject({ status: 429, code: 'rate_limit_exceeded' });
    expect(Number(error.headers?.get('retry-after'))).toBeGreaterThan(0);
    expect(Number(error.headers?.get('retry-after'))).toBeLessThanOrEqual(60);
    expect(error.headers?.get('x-ratelimit-limit-requests')).toBe('3');
  }
});

test('an empty balance is insufficient_quota on chat and billing_error on messages, and costs nothing', async () => {
  const poor = await createCustomer(tollgate);
  const poorKey = await subscribeWithKey(poor, { modelIds: [chat.id], tokens: 3 });
  await expect(
    openai('first node', poorKey).chat.completions.create({
      model: chat.name,
      messages: say('a longer question than three tokens'),
    }),
  ).rejects.toMatchObject({
    status: 429,
    code: 'insufficient_quota',
  });
  await expect(
    anthropic('second node', poorKey).messages.create({
      model: chat.name,
      max_tokens: 5,
      messages: say('a longer question than three tokens'),
    }),
  ).rejects.toMatchObject({
    status: 402,
    error: { error: { type: 'billing_error' } },
  });
  expect(await balanceOf(tollgate, poor, chat.id)).toBe(3);
});

test('a disabled key is refused by every node on the very next request', async () => {
  const { id, key: doomed } = await customer.client.createKey({ name: 'doomed' });
  await openai('second node', doomed).chat.completions.create({
    model: chat.name,
    messages: say('@demo tokens=1'),
  });
  await customer.client.call('POST', `/keys/${id}/disable`);
  for (const path of PATHS)
    await expect(openai(path, doomed).models.list()).rejects.toMatchObject({ status: 401 });
  for (const path of PATHS)
    await expect(
      openai(path, doomed).chat.completions.create({ model: chat.name, messages: say('hi') }),
    ).rejects.toMatchObject({ status: 401 });
});

test('the first administrator may subscribe and call with an own key', async () => {
  const { admin } = tollgate;
  await admin.call('POST', '/wallet/recharge', { amount: '10' });
  await admin.subscribe({ model_id: chat.id, tokens: 1_000 });
  const { key: own } = await admin.createKey({ name: 'own' });
  const answer = await openai('first node', own).chat.completions.create({
    model: chat.name,
    messages: say('@demo tokens=2'),
  });
  expect(answer.usage?.completion_tokens).toBe(2);
});
