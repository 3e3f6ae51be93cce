import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startControlPlane, type ControlPlane } from '../../testing/control-plane-under-test.ts';

let plane: ControlPlane;
beforeAll(async () => {
  plane = await startControlPlane();
}, 60_000);
afterAll(() => plane?.stop());

test('sums up users, nodes, traffic from totals, money and alerts in one answer', async () => {
  const { id } = await plane.createUser('customer');
  await plane.call('POST', '/auth/register', {
    body: { username: 'waiting', password: 'correct horse battery' },
  });
  await plane.call('POST', '/wallet/admin-recharge', {
    token: plane.adminToken,
    body: { user_id: id, amount: '12.5' },
  });
  const { body: model } = await plane.call('POST', '/models', {
    token: plane.adminToken,
    body: { name: 'busy' },
  });
  // All requests are in the first bucket: up to 5 ms.
  const histogram = `ARRAY[10]::bigint[]`;
  for (const [hour, requests] of [
    ['now()', 3],
    ["now() - interval '5 hours'", 4],
    ["now() - interval '30 hours'", 100],
  ] as const) {
    await plane.dataSource.query(
      `INSERT INTO usage_totals (hour, model_id, upstream_id, requests, errors, charge, input_tokens, output_tokens, duration_histogram, first_token_histogram)
       VALUES (date_trunc('hour', ${hour}), $1, 0, $2::int, 1, $2::int * 10, $2::int * 6, $2::int * 4, ${histogram}, ${histogram})`,
      [model.id, requests],
    );
  }
  const { status, body } = await plane.call('GET', '/admin/dashboard', { token: plane.adminToken });
  expect(status).toBe(200);
  expect(body).toMatchObject({
    users: { total: 3, active: 2, pending: 1, frozen: 0, rejected: 0 },
    nodes: { total: 0, online: 0, offline: 0 },
    top_models: [{ model_id: model.id, name: 'busy', requests: 7, charge: 70 }],
    money: { currency: 'USD', wallets: '12.5', grants: '-12.5', revenue: '0' },
    subscriptions: { active: 0, tokens: 0 },
    alerts: { open: 0, newest: [] },
  });
  expect(body.hours).toHaveLength(24);
  expect(body.hours.at(-1)).toMatchObject({ requests: 3, errors: 1, charge: 30 });
  expect(body.hours.at(-6)).toMatchObject({ requests: 4 });
  expect(
    body.hours.reduce((sum: number, hour: { requests: number }) => sum + hour.requests, 0),
  ).toBe(7);
  expect([3, 7]).toContain(body.today.requests);
  expect(body.today).toMatchObject({ duration_p95_ms: 5, first_token_p95_ms: 5 });
  expect(body.booking_lag_ms).toBeNull();
  expect(
    (await plane.call('GET', '/admin/dashboard', { token: (await plane.createUser('nosy')).token }))
      .status,
  ).toBe(403);
});

test('counts tokens up to the largest integer that JSON represents exactly', async () => {
  const { body: model } = await plane.call('POST', '/models', {
    token: plane.adminToken,
    body: { name: 'free', price: { price_per_million: 0, free: true }, is_on_shelf: true },
  });
  for (const name of ['hoarder1', 'hoarder2'])
    await plane.call('POST', '/models/subscribe', {
      token: (await plane.createUser(name)).token,
      body: { model_id: model.id, tokens: 1 },
    });
  await plane.dataSource.query('UPDATE subscriptions SET balance = $1', [Number.MAX_SAFE_INTEGER]);
  expect(
    (await plane.call('GET', '/admin/dashboard', { token: plane.adminToken })).body.subscriptions,
  ).toEqual({ active: 2, tokens: Number.MAX_SAFE_INTEGER });
});
