import { expect, test } from '@jest/globals';
import { uuidv7 } from '../../platform/http/visitor.ts';
import { ledger, plane, shareLedgerPlane } from '../../testing/ledger-plane-under-test.ts';
import { usageEvent } from '../../testing/ledger-under-test.ts';
import { UsageWorker } from '../usage/ingest/usage-worker.ts';

shareLedgerPlane();

const search = async (token: string, q: string) =>
  (await plane.call('GET', `/search?q=${encodeURIComponent(q)}`, { token })).body.data;

test('an administrator finds everything, a user what is theirs (S24)', async () => {
  const [mine, theirs] = [
    await plane.createUser('findme-one'),
    await plane.createUser('findme-two'),
  ];
  for (const { token } of [mine, theirs])
    await plane.call('POST', '/keys', { token, body: { name: 'findme-key' } });
  await ledger.asAdmin('POST', '/upstreams', {
    name: 'findme-upstream',
    protocol: 'openai',
    base_url: 'http://127.0.0.1:8999/v1',
  });
  const kindsOf = (rows: { kind: string }[]) => rows.map(({ kind }) => kind).toSorted();
  expect(kindsOf(await search(plane.adminToken, 'FINDME'))).toEqual([
    'key',
    'key',
    'upstream',
    'user',
    'user',
  ]);
  expect(kindsOf(await search(mine.token, 'findme'))).toEqual(['key']);
  expect(await search(mine.token, '%')).toEqual([]);
  expect(await search(plane.adminToken, "'; DROP TABLE users --")).toEqual([]);
});

test('a request is found by its id, by its owner and administrators alone', async () => {
  const [account, model] = [await ledger.account('10'), await ledger.model('1')];
  await plane.call('POST', '/models/subscribe', {
    token: account.token,
    body: { model_id: model.id, tokens: 1000 },
  });
  const rid = uuidv7(Date.now());
  const { id: subscriptionId } = await ledger.subscription(account, model);
  await plane.app
    .get(UsageWorker)
    .process([usageEvent(5, { account, model, subscriptionId, rid })]);
  const stranger = await plane.createUser('stranger');
  expect(await search(account.token, rid)).toMatchObject([{ kind: 'request', id: rid }]);
  expect(await search(plane.adminToken, rid.toUpperCase())).toHaveLength(1);
  expect(await search(stranger.token, rid)).toEqual([]);
});

test('first steps are done one by one, for an account and for the installation', async () => {
  const steps = async (token: string, path: '/first-steps' | '/admin/first-steps') => {
    const { body } = await plane.call('GET', path, { token });
    return body.steps
      .filter((one: { is_done: boolean }) => one.is_done)
      .map((one: { step: string }) => one.step);
  };
  const newcomer = await plane.createUser('newcomer');
  expect(await steps(newcomer.token, '/first-steps')).toEqual([]);
  await ledger.asAdmin('POST', '/wallet/admin-recharge', { user_id: newcomer.id, amount: '5' });
  const model = await ledger.model('1');
  await plane.call('POST', '/models/subscribe', {
    token: newcomer.token,
    body: { model_id: model.id, tokens: 1000 },
  });
  await plane.call('POST', '/playground/key', { token: newcomer.token });
  expect(await steps(newcomer.token, '/first-steps')).toEqual(['wallet', 'subscription']);
  await plane.call('POST', '/keys', { token: newcomer.token, body: { name: 'k' } });
  const { id: subscriptionId } = await ledger.subscription(newcomer, model);
  await plane.app
    .get(UsageWorker)
    .process([usageEvent(5, { account: newcomer, model, subscriptionId })]);
  expect(await plane.call('GET', '/first-steps', { token: newcomer.token })).toMatchObject({
    body: { is_complete: true },
  });
  expect(await steps(plane.adminToken, '/admin/first-steps')).toEqual([
    'upstream',
    'model',
    'price',
    'user',
  ]);
});
