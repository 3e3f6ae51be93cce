import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Transactions } from '../../platform/database/transactions.ts';
import {
  PASSWORD,
  startControlPlane,
  type ControlPlane,
} from '../../testing/control-plane-under-test.ts';
import { ActivityService, SYSTEM } from './activity.service.ts';

let plane: ControlPlane;
let activity: ActivityService;
let transactions: Transactions;
beforeAll(async () => {
  plane = await startControlPlane();
  activity = plane.app.get(ActivityService, { strict: false });
  transactions = plane.app.get(Transactions);
}, 60_000);
afterAll(() => plane?.stop());

const logs = (query: '' | `?${string}` = '') =>
  plane.call('GET', `/activity/logs${query}`, { token: plane.adminToken });
const record = (id: number, after: object = { id }) =>
  transactions.run(async (tx) =>
    activity.record(tx, SYSTEM, { action: 'test.note', target: { kind: 'test', id }, after }),
  );

test('says who did what to whom, from where, before and after', async () => {
  const { id } = (
    await plane.call('POST', '/auth/register', { body: { username: 'nora', password: PASSWORD } })
  ).body;
  const approved = await plane.call('POST', `/users/${id}/approve`, { token: plane.adminToken });
  const answer = await logs(`?target_kind=user&target_id=${id}&action=user.approve`);
  expect(answer.body).toMatchObject({
    next_cursor: null,
    data: [
      {
        actor_user_id: 1,
        actor_name: 'root',
        action: 'user.approve',
        target_kind: 'user',
        target_id: String(id),
        before: { status: 'pending' },
        after: { status: 'active' },
        address: '127.0.0.1',
        request_id: approved.headers.get('x-request-id'),
      },
    ],
  });
});

test('names what was acted on as it is called now, and whose it is', async () => {
  const { id: userId, token } = await plane.createUser('owner-of-key');
  const call = <Path extends string>(path: Path, body: object, as = plane.adminToken) =>
    plane.call('POST', path, { token: as, body }).then((answer) => answer.body);
  const price = { price_per_million: '1' };
  const model = await call('/models', { name: 'named-model', price, is_on_shelf: true });
  const upstream = await call('/upstreams', {
    name: 'named-upstream',
    protocol: 'openai',
    base_url: 'https://upstream.example/v1',
    api_key: 'sk-of-upstream',
  });
  const route = { model_id: model.id, upstream_id: upstream.id, upstream_model: 'x' };
  const { id: routeId } = await call('/routing', route);
  const key = await call('/keys', { name: 'named-key' }, token);
  await call('/wallet/admin-recharge', { user_id: userId, amount: '10' });
  const subscription = await call('/models/subscribe', { model_id: model.id, tokens: 5 }, token);
  const named = async (kind: string, id: number): Promise<unknown[]> => {
    const { body } = await logs(`?target_kind=${kind}&target_id=${id}&page_size=1`);
    return body.data.map((entry: Record<string, unknown>) => [
      entry['target_name'],
      entry['target_user_id'],
    ]);
  };
  expect(await named('model', model.id)).toEqual([['named-model', null]]);
  expect(await named('upstream', upstream.id)).toEqual([['named-upstream', null]]);
  expect(await named('route', routeId)).toEqual([['named-model → named-upstream', null]]);
  expect(await named('key', key.id)).toEqual([['named-key', userId]]);
  expect(await named('subscription', subscription.id)).toEqual([
    ['owner-of-key · named-model', userId],
  ]);
  await plane.call('DELETE', `/routing/${routeId}`, { token: plane.adminToken });
  expect(await named('route', routeId)).toEqual([[null, null]]);
});

test('says of what is deleted that it is gone, so that nothing leads to a page that is not there', async () => {
  const { id: userId, token } = await plane.createUser('soon-gone');
  const key = await plane.call('POST', '/keys', { token, body: { name: 'of-the-gone' } });
  const targets: [string, number][] = [
    ['user', userId],
    ['key', key.body.id],
  ];
  const seen = () =>
    Promise.all(
      targets.map(async ([kind, id]) => {
        const { body } = await logs(`?target_kind=${kind}&target_id=${id}&page_size=1`);
        const [{ target_name: name, target_is_gone: isGone }] = body.data;
        return [name, isGone];
      }),
    );
  expect((await seen())[1]).toEqual(['of-the-gone', false]);
  await plane.call('DELETE', `/users/${userId}`, { token: plane.adminToken });
  expect(await seen()).toEqual([
    ['soon-gone', true],
    ['of-the-gone', true],
  ]);
});

test('a change that is rolled back leaves no trace', async () => {
  const attempt = transactions.run(async (tx) => {
    activity.record(tx, SYSTEM, { action: 'test.undone', target: { kind: 'test', id: null } });
    throw new Error('no');
  });
  await expect(attempt).rejects.toThrow('no');
  expect((await logs('?action=test.undone')).body.data).toEqual([]);
});

test('holds no secret (S13)', async () => {
  await record(1, {
    api_key: 'canary',
    nested: [{ password: 'canary', headers: { 'x-key': 'canary' } }],
    tokens: 5,
    sealedApiKey: 'canary',
  });
  const [entry] = (await logs('?action=test.note&target_id=1')).body.data;
  expect(entry.after).toEqual({
    api_key: '[masked]',
    nested: [{ password: '[masked]', headers: { 'x-key': '[masked]' } }],
    tokens: 5,
    sealedApiKey: '[masked]',
  });
});

test('pages by cursor without losing or repeating an entry', async () => {
  await Promise.all(Array.from({ length: 25 }, (_, index) => record(100 + index)));
  const seen: number[] = [];
  for (let cursor: string | null = ''; cursor !== null;) {
    const page: { body: { data: { id: number }[]; next_cursor: string | null } } = await logs(
      `?action=test.note&page_size=10${cursor ? `&cursor=${cursor}` : ''}`,
    );
    seen.push(...page.body.data.map((entry) => entry.id));
    cursor = page.body.next_cursor;
  }
  expect(seen).toHaveLength(26);
  expect(seen).toEqual([...new Set(seen)].sort((a, b) => b - a));
});

test.each(['cursor=x', 'cursor=%7B%7D', 'cursor=MA', 'page_size=0', 'nope=1', 'from=yesterday'])(
  'the activity log refuses the query %s',
  async (query) => {
    expect((await logs(`?${query}`)).status).toBe(400);
  },
);

test('written by many at once the chain stays whole, and one changed entry breaks it there', async () => {
  await Promise.all(
    Array.from({ length: 40 }, (_, index) =>
      record(200 + index, { text: 'ä\n"', number: 1.5, nothing: null, list: [1, { b: 1, a: 2 }] }),
    ),
  );
  const whole = await activity.verify();
  expect(whole).toMatchObject({ brokenAt: null });
  expect(whole.entries).toBeGreaterThan(60);

  const [{ id }] = await plane.administrator.query(
    'SELECT id FROM activity_log ORDER BY id LIMIT 1 OFFSET 30',
  );
  await expect(
    plane.administrator.query('UPDATE activity_log SET action = $1 WHERE id = $2', ['forged', id]),
  ).rejects.toThrow('append-only');
  await plane.administrator.query(
    'ALTER TABLE activity_log DISABLE TRIGGER activity_log_append_only',
  );
  await plane.administrator.query('UPDATE activity_log SET action = $1 WHERE id = $2', [
    'forged',
    id,
  ]);
  expect(await activity.verify()).toEqual({ entries: 30, brokenAt: Number(id) });
});
