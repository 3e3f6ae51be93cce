import { beforeAll, expect, test } from '@jest/globals';
import { parseApiKey } from '@tollgate/contracts';
import { MeteringStore } from '@tollgate/keyspace';
import { uuidv7 } from '../../platform/http/visitor.ts';
import { ledgerOf } from '../../testing/ledger-under-test.ts';
import type { ControlPlane } from '../../testing/control-plane-under-test.ts';
import { sharedControlPlane } from '../../testing/shared-plane-under-test.ts';
import { isModelAllowed } from './allowed-models.ts';

const OWN = { models: '', of: 'key' };

let plane: ControlPlane;
let ledger: ReturnType<typeof ledgerOf>;
beforeAll(async () => {
  plane = await sharedControlPlane();
  ledger = ledgerOf(plane);
  await ledger.initialiseShards();
}, 60_000);

test('windows show what admission has counted, and when the whole limit is back', async () => {
  const [account, model] = [await ledger.account('10'), await ledger.model('1')];
  const as = <Method extends string, Path extends string>(
    method: Method,
    path: Path,
    body?: unknown,
  ) => plane.call(method, path, { token: account.token, ...(body === undefined ? {} : { body }) });
  await as('POST', '/models/subscribe', { model_id: model.id, tokens: 100_000 });
  const key = (await as('POST', '/keys', { name: 'counted', rpm: 5, rpd: 100 })).body;
  const read = async () => (await as('GET', `/keys/${key.id}/windows`)).body.windows;
  const named = async (...names: string[]) =>
    (await read()).filter((row: { window: string }) => names.includes(row.window));
  expect(await named('rpm', 'rph', 'rpd')).toEqual([
    { window: 'rpm', limit: 5, used: 0, remaining: 5, resets_at: null, ...OWN },
    { window: 'rph', limit: 0, used: 0, remaining: null, resets_at: null, ...OWN },
    { window: 'rpd', limit: 100, used: 0, remaining: 100, resets_at: null, ...OWN },
  ]);
  const admit = () =>
    plane.app.get(MeteringStore).admit({
      rid: uuidv7(Date.now()),
      accountId: account.id,
      keyHash: parseApiKey(key.key)?.hash ?? '',
      modelId: model.id,
      modelName: model.name,
      priceVersionId: model.priceId,
      wantTokens: 10,
      minTokens: 1,
      addressHex: '',
      concurrencyMax: 0,
      leaseMs: 60_000,
      node: 'node-a:0',
    });
  const replies = [];
  for (let request = 0; request < 7; request += 1) replies.push(await admit());
  expect(replies.map(({ kind }) => kind)).toEqual([
    ...Array.from({ length: 5 }, () => 'admitted'),
    'rate_limited',
    'rate_limited',
  ]);
  const last = replies.at(-1);
  const [minute, , day] = await named('rpm', 'rph', 'rpd');
  expect([minute, day]).toMatchObject([
    { used: 5, remaining: 0 },
    { used: 5, remaining: 95 },
  ]);
  // Both say the same moment, each in its own clock's words.
  const resetMs = last?.kind === 'rate_limited' ? (last.windows[0]?.resetMs ?? 0) : 0;
  expect(Math.abs(Date.parse(minute?.resets_at ?? '') - Date.now() - resetMs)).toBeLessThan(2_000);
  const stranger = await ledger.account('0');
  expect(
    (await plane.call('GET', `/keys/${key.id}/windows`, { token: stranger.token })).status,
  ).toBe(404);
});

test.each([
  ['', 'gpt-4', true],
  ['*', 'gpt-4', true],
  ['gpt-4', 'gpt-4', true],
  ['gpt-4', 'gpt-4o', false],
  ['gpt-*', 'gpt-4o', true],
  ['*-mini', 'gpt-4o-mini', true],
  ['*4o*', 'gpt-4o-mini', true],
  ['a*b*c', 'a-b-b-c', true],
  ['ab*ba', 'aba', false],
  ['x,gpt-4', 'gpt-4', true],
  ['a**b', 'ab', true],
  ['*b*', 'a', false],
])('%s names %s: %s, as admission has it', (allowed, model, expected) => {
  expect(isModelAllowed(allowed, model)).toBe(expected);
});

test('the windows of several keys are read at once, without those of other accounts', async () => {
  const [account, other] = [await ledger.account('1'), await ledger.account('1')];
  const as = <Method extends string, Path extends string>(
    token: string,
    method: Method,
    path: Path,
    body?: unknown,
  ) => plane.call(method, path, { token, ...(body === undefined ? {} : { body }) });
  const create = async (token: string, name: string, rpm: number): Promise<number> =>
    Number((await as(token, 'POST', '/keys', { name, rpm })).body.id);
  const first = await create(account.token, 'first', 5);
  const second = await create(account.token, 'second', 7);
  const foreign = await create(other.token, 'foreign', 9);
  const path = `/keys/windows?ids=${first},${second},${foreign},${first},2000000000` as const;
  const { data } = (await as(account.token, 'GET', path)).body;
  const limits = data.map((key: { key_id: number; windows: { limit: number }[] }) => [
    key.key_id,
    key.windows[0]?.limit,
  ]);
  expect(limits.toSorted()).toEqual([
    [first, 5],
    [second, 7],
  ]);
  const refused = await as(account.token, 'GET', '/keys/windows?ids=1,x');
  expect(refused.status).toBe(400);
  expect(refused.body.errors).toMatchObject([{ field: 'ids' }]);
  expect(
    (await as(account.token, 'GET', '/keys/windows?ids=1,5575350133')).body.errors,
  ).toMatchObject([{ field: 'ids.1', message: 'must be at most 2147483647' }]);
});
