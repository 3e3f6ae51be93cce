import { expect, test } from '@jest/globals';
import { uuidv7 } from '../../../platform/http/visitor.ts';
import { usageEvent, type EventParts } from '../../../testing/ledger-under-test.ts';
import { RecentSumsKeeper } from '../recent-sums-keeper.ts';
import { get, plane, subscribed, worker } from './usage-api-under-test.ts';

const failed = { outcome: 'upstream_failed', status: 502, upstream_id: null } as const;

async function keyOf({ account }: EventParts, name: string): Promise<number> {
  const { body } = await plane.call('POST', '/keys', { token: account.token, body: { name } });
  return body.id;
}

test('usage/top orders users, keys and models by each measure, with the rest as "other" and a total that adds up', async () => {
  const few = await subscribed();
  const many = await subscribed();
  const [first, second] = [await keyOf(many, 'first'), await keyOf(many, 'second')];
  await worker.process([
    usageEvent(500, few),
    ...[1, 2, 3].map(() => usageEvent(2, { ...many, keyId: first })),
    usageEvent(0, { ...many, keyId: second, final: failed }),
  ]);
  const top = async (query: string) =>
    (await get(`/usage/top?interval=minute&${query}`, plane.adminToken)).body;
  const named = async (query: string) =>
    (await top(query)).data
      .map(({ id }: { id: number }) => id)
      .filter((id: number) => [few.account.id, many.account.id].includes(id));
  expect(await named('group_by=user&by=charge&limit=100')).toEqual([
    few.account.id,
    many.account.id,
  ]);
  expect(await named('group_by=user&by=requests&limit=100')).toEqual([
    many.account.id,
    few.account.id,
  ]);
  expect(await named('group_by=user&by=errors&limit=100')).toEqual([many.account.id]);
  const ofMany = await top(`group_by=key&by=requests&limit=1&user_id=${many.account.id}`);
  expect(ofMany).toMatchObject({
    data: [{ id: first, name: 'first', requests: 3, charge: 6, errors: 0 }],
    other: { groups: 1, requests: 1, charge: 0, errors: 1 },
    total: { groups: 2, requests: 4, charge: 6, errors: 1 },
  });
});

test('the greatest of a month are found by the sums of its weeks and shown as all its days say', async () => {
  const [early, late, both] = [await subscribed(), await subscribed(), await subscribed()];
  const keyId = await keyOf(both, 'both');
  const daysAgo = (days: number): { rid: string } => ({
    rid: uuidv7(Date.now() - days * 86_400_000),
  });
  await worker.process([
    ...[28, 10, 2].map((days) => usageEvent(1, { ...early, ...daysAgo(days) })),
    ...[0, 1, 0].map((days) => usageEvent(1, { ...late, ...daysAgo(days) })),
    ...[28, 20, 1, 0].map((days) => usageEvent(1, { ...both, ...daysAgo(days), keyId })),
  ]);
  const { administrator } = plane;
  await administrator.query("UPDATE usage_recent_span SET until = '-infinity'");
  const named = new Map([
    [early.account.id, 'early'],
    [late.account.id, 'late'],
    [both.account.id, 'both'],
  ]);
  const top = async (query: string): Promise<[string | undefined, number][]> => {
    const { body } = await get(`/usage/top?by=requests&limit=100&${query}`, plane.adminToken);
    return body.data.flatMap(({ id, requests }: { id: number; requests: number }) =>
      named.has(id) ? [[named.get(id), requests]] : [],
    );
  };
  const byDays = await top('group_by=user');
  await plane.app.get(RecentSumsKeeper).look();
  expect(await top('group_by=user')).toEqual(byDays);
  expect(byDays).toEqual([
    ['both', 4],
    ['early', 3],
    ['late', 3],
  ]);
  const keys = await get('/usage/top?by=requests&limit=100&group_by=key', plane.adminToken);
  expect(keys.body.data).toContainEqual(expect.objectContaining({ id: keyId, requests: 4 }));
  const more = 'UPDATE usage_recent SET requests = 1000000 WHERE id = $1';
  await administrator.query(more, [early.account.id]);
  await administrator.query('DELETE FROM usage_recent WHERE id = $1', [both.account.id]);
  const asked = await get('/usage/top?by=requests&limit=1&group_by=user', plane.adminToken);
  expect(asked.body.data).toMatchObject([{ id: early.account.id, requests: 3 }]);
  // Days before and after those of the sums count once, and keys have sums of their own.
  const recent = await subscribed();
  await worker.process([0, 0].map((days) => usageEvent(1, { ...recent, ...daysAgo(days) })));
  await administrator.query(
    "INSERT INTO usage_recent (kind, id, tokens, requests, errors, charge, spend) VALUES ('user', $1, 0, 1000000, 0, 0, 0), ('key', $2, 0, 3000000, 0, 0, 0)",
    [recent.account.id, keyId],
  );
  const ofKeys = await get('/usage/top?by=requests&limit=1&group_by=key', plane.adminToken);
  expect(ofKeys.body.data).toMatchObject([{ id: keyId, requests: 4 }]);
  const last = await get('/usage/top?by=requests&limit=1&group_by=user', plane.adminToken);
  expect(last.body.data).toMatchObject([{ id: recent.account.id, requests: 2 }]);
  const week = new Date(Date.now() - 7 * 86_400_000).toISOString();
  expect(await top(`group_by=user&from=${week}`)).toEqual([
    ['late', 3],
    ['both', 2],
    ['early', 1],
  ]);
  const ofWeek = await get(
    `/usage/top?by=requests&limit=1&group_by=user&from=${week}`,
    plane.adminToken,
  );
  expect(ofWeek.body.data[0].requests).toBeGreaterThan(2);
});

test('spend values charged tokens at the price of their time, exact to a millionth', async () => {
  const parts = await subscribed();
  await plane.call('POST', '/models/pricing', {
    token: plane.adminToken,
    body: { model_id: parts.model.id, price_per_million: '3.5' },
  });
  await worker.process([usageEvent(1_001, parts)]);
  const { body } = await get('/usage/top?by=spend&interval=minute', parts.account.token);
  expect(body.data).toMatchObject([{ id: parts.model.id, charge: 1_001, spend: '0.003504' }]);
  expect(body.total).toMatchObject({ groups: 1, spend: '0.003504' });
  expect(body.other).toMatchObject({ groups: 0, requests: 0, spend: '0' });
});

test('a user reads about their own account alone', async () => {
  const [mine, theirs] = [await subscribed(), await subscribed()];
  await worker.process([usageEvent(7, theirs)]);
  const own = await get('/usage/top?group_by=user', mine.account.token);
  expect(own.body).toMatchObject({ data: [], total: { groups: 0, requests: 0 } });
  expect((await get(`/usage/top?user_id=${theirs.account.id}`, mine.account.token)).status).toBe(
    404,
  );
});
