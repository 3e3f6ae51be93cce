import { beforeAll, expect, test } from '@jest/globals';
import { UsageIngest } from '../../features/usage/ingest/usage-ingest.service.ts';
import { UsageWorker } from '../../features/usage/ingest/usage-worker.ts';
import { ledgerOf, usageEvent } from '../../testing/ledger-under-test.ts';
import { PASSWORD, type ControlPlane } from '../../testing/control-plane-under-test.ts';
import { runOneRequest } from '../../testing/running-request.ts';
import { sharedControlPlane } from '../../testing/shared-plane-under-test.ts';
import { readEvents } from '../../testing/event-stream-under-test.ts';
import { uuidv7 } from '../http/visitor.ts';
import { walkBulk } from './bulk-walk-under-test.ts';

let plane: ControlPlane;
beforeAll(async () => {
  plane = await sharedControlPlane();
}, 60_000);

/** Calls as the administrator; throws unless the answer is 2xx and as documented. */
async function go<Method extends string, Path extends string>(
  route: `${Method} ${Path}`,
  body?: unknown,
  token = plane.adminToken,
) {
  const [method, path] = route.split(' ') as [Method, Path];
  const answer = await plane.call(method, path, { token, body });
  if (answer.status >= 300)
    throw new Error(`${route} answered ${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body;
}
async function goAll(...routes: `${string} ${string}`[]): Promise<void> {
  for (const route of routes) await go(route);
}

async function accounts(): Promise<void> {
  const user = await plane.createUser('walker');
  const { id: turnedAway } = await go('POST /auth/register', {
    username: 'turned-away',
    password: PASSWORD,
  });
  await goAll(
    'GET /users?status=active',
    `POST /users/${turnedAway}/reject`,
    `GET /users/${turnedAway}`,
    `DELETE /users/${turnedAway}`,
    `POST /users/${user.id}/freeze?drain=true`,
    `POST /users/${user.id}/unfreeze`,
  );
  const made = await go('POST /users', { username: 'made' });
  await goAll(`POST /users/${made.id}/reset-password`, `DELETE /users/${made.id}`);
  await go(`GET /users/${made.id}/erasure`);
  await go(`POST /users/${made.id}/erase`, { username: 'made' });
  await go(`PUT /users/${user.id}`, { role: 'admin' });
  const token = await plane.login('walker', PASSWORD);
  await go('GET /auth/me', undefined, token);
  await go('POST /auth/confirm-password', { password: PASSWORD }, token);
  const changed = await go(
    'POST /auth/password',
    { current_password: PASSWORD, new_password: `${PASSWORD} staple` },
    token,
  );
  await go('GET /auth/tokens', undefined, changed.token);
  const script = await go('POST /auth/tokens', { name: 'ci', scope: 'read' }, changed.token);
  await go(`GET /auth/tokens/${script.id}/made`, undefined, changed.token);
  await go(`DELETE /auth/tokens/${script.id}`, undefined, changed.token);
  await go(`POST /auth/tokens/${script.id}/disable-made`, {}, changed.token);
  await plane.login('walker', `${PASSWORD} staple`);
  await go(`PUT /users/${user.id}`, { rpm_ceiling: 60, rph_ceiling: 0, rpd_ceiling: null });
  await go('PUT /admin/ceilings', { rpm: 1000 });
  await go('GET /admin/ceilings');
  const { data } = await go('GET /auth/sessions', undefined, changed.token);
  const other = data.find((row: { is_current: boolean }) => !row.is_current);
  await go(`DELETE /auth/sessions/${other?.sid}`, undefined, changed.token);
  await go('POST /auth/logout', {}, changed.token);
}

async function catalogue(): Promise<{ modelId: number; routeId: number; upstreamId: number }> {
  const { id: modelId } = await go('POST /models', {
    name: 'walked',
    kind: 'chat',
    context_window: 8192,
    unbounded_input_tokens: 100,
    reads_more_than_sent: true,
    caches_prompts: true,
  });
  await go(`PUT /models/${modelId}`, { description: 'For walking' });
  const { imported_at: _, ...families } = await go('GET /models/families');
  await go('PUT /models/families', families);
  await go('POST /models/pricing', {
    model_id: modelId,
    price_per_million: '2.5',
    weight_output: 3,
  });
  await goAll(
    'GET /models?q=walk',
    `GET /models/${modelId}`,
    'GET /models/pricing',
    `POST /models/${modelId}/disable`,
    `POST /models/${modelId}/enable`,
    'GET /models/market',
  );
  const { id: upstreamId } = await go('POST /upstreams', {
    name: 'walked',
    protocol: 'openai',
    base_url: 'http://127.0.0.1:8999/v1',
    api_key: 'secret',
    headers: { 'x-team': 'a' },
    max_concurrency: 4,
    stops_billing_on_close: false,
    endpoints: ['responses'],
    passes_file_ids: true,
    fields: 'all',
  });
  await go(`PUT /upstreams/${upstreamId}`, { total_timeout_ms: 60_000 });
  const { id: routeId } = await go('POST /routing', { model_id: modelId, upstream_id: upstreamId });
  await go(`PUT /routing/${routeId}`, { priority: 2 });
  await go(`POST /upstreams/${upstreamId}/test`, { model: 'm' });
  await go(`POST /upstreams/${upstreamId}/credentials`, { name: 'second', api_key: 'k' });
  await go(`PUT /upstreams/${upstreamId}/credentials/0`, { weight: 2, rpm: 60 });
  await goAll(
    `GET /routing/simulation?model_id=${modelId}`,
    'GET /routing/health',
    'GET /search?q=walk',
    'GET /first-steps',
    'GET /admin/first-steps',
    'GET /upstreams',
    `GET /upstreams/${upstreamId}`,
    'GET /routing',
    `GET /routing/${routeId}`,
  );
  return { modelId, routeId, upstreamId };
}

async function moneyAndKeys(modelId: number): Promise<void> {
  const { id: userId } = await go('GET /auth/me');
  await go('POST /wallet/admin-recharge', { user_id: userId, amount: 12.5, note: 'a gift' });
  await go('POST /wallet/adjust', { user_id: userId, amount: '-0.5', note: 'less was meant' });
  await go('POST /wallet/withdraw', { user_id: userId, amount: '1', note: 'transfer 1' });
  await go('POST /wallet/recharge', { amount: '7.25' });
  await go('POST /wallet/withdraw', { user_id: userId, amount: '1', note: 'n', to: 'provider' });
  await go('GET /wallet/payouts');
  await go('POST /models/subscribe', {
    model_id: modelId,
    tokens: 1000,
    auto_recharge_threshold: 10,
    auto_recharge_amount: 100,
  });
  await go('POST /models/renew', { model_id: modelId, tokens: 500 });
  await go('POST /models/set-auto-recharge', { model_id: modelId, threshold: null, amount: null });
  const subscription = (await go('GET /models/my')).data[0];
  await goAll(
    'GET /wallet',
    'GET /wallet/logs',
    'GET /wallet/logs?format=csv',
    'GET /wallet/payments',
    `GET /subscriptions/${subscription.id}/lots`,
    `GET /subscriptions/${subscription.id}/ledger`,
    `GET /subscriptions/${subscription.id}/ledger?format=csv`,
  );
  const key = await go('POST /keys', {
    name: 'walked',
    allowed_models: 'walked,other-*',
    ...{ rpm: 1, rph: 2, rpd: 3 },
    expires_at: new Date(Date.now() + 60_000).toISOString(),
    ip_allowlist: '10.0.0.0/8',
  });
  await go(`POST /keys/${key.id}/rotate`);
  await go('POST /playground/key', { key_id: key.id });
  await goAll(
    `GET /previews/purchase?model_id=${modelId}&tokens=10`,
    `GET /previews/refund?model_id=${modelId}`,
    `GET /previews/model-removal?model_id=${modelId}`,
    `GET /previews/charge?model_id=${modelId}&input_tokens=10`,
    `GET /previews/price-change?model_id=${modelId}&input_tokens=10&price_per_million=3`,
    `GET /previews/budget?unit=requests&amount=10`,
    'GET /usage/burn-rate',
    'GET /usage/top?group_by=user&by=spend',
    `GET /keys/${key.id}/windows`,
    `GET /keys/windows?ids=${key.id}`,
  );
  await go(`PUT /keys/${key.id}`, { rpm: 0, expires_at: null });
  await goAll(
    'GET /keys',
    `GET /keys/${key.id}`,
    `POST /keys/${key.id}/disable`,
    `POST /keys/${key.id}/enable`,
    `DELETE /keys/${key.id}`,
  );
}

async function budgets(): Promise<void> {
  const { id: user_id } = await go('GET /auth/me');
  const amounts = { unit: 'money', amount: '12.5', period: 'month', time_zone: 'Europe/Berlin' };
  const budget = await go('POST /budgets', { scope: { user_id }, ...amounts, notify_at: [80] });
  await go(`PUT /budgets/${budget.id}`, { action: 'notify' });
  await go(`POST /budgets/${budget.id}/grant`, { amount: 1, reason: 'walked' });
  await go(`POST /budgets/${budget.id}/reset`, { reason: 'walked' });
  await goAll(
    'GET /budgets',
    `GET /budgets/${budget.id}`,
    `GET /budgets/${budget.id}/entries`,
    `GET /budgets/usage?ids=${budget.id}`,
    `DELETE /budgets/${budget.id}`,
  );
}

async function usage(): Promise<void> {
  const ledger = ledgerOf(plane);
  await ledger.initialiseShards();
  const [account, model] = [await ledger.account('1000'), await ledger.model('1')];
  await go('POST /models/subscribe', { model_id: model.id, tokens: 1_000_000 }, account.token);
  const rid = uuidv7(Date.now());
  await plane.app.get(UsageWorker).process([
    usageEvent(10, {
      account,
      model,
      subscriptionId: (await ledger.subscription(account, model)).id,
      rid,
    }),
  ]);
  await goAll('GET /usage/logs', 'GET /usage/logs?format=csv', `GET /usage/logs/${rid}/receipt`);
  await goAll('GET /refused-requests', 'GET /refused-requests/counts', 'GET /upstream-errors');
  for (const group of ['model', 'key', 'user', 'upstream'])
    await go(`GET /usage/statistics?interval=hour&group_by=${group}`);
  const parts = { account, model, subscriptionId: (await ledger.subscription(account, model)).id };
  const wrong = [
    usageEvent(10, { ...parts, final: { charge: 9 }, delta: 9 }),
    usageEvent(10, { ...parts, final: { charge: 8 }, delta: 8 }),
  ];
  await plane.app.get(UsageIngest).ingest(wrong);
  const [last, first] = (await go('GET /admin/dead-letters')).data;
  await go(`POST /admin/dead-letters/${first?.id}/book`, { fields: { charge: 10 } });
  await go(`POST /admin/dead-letters/${last.id}/dismiss`, { note: 'walked' });
  await go('POST /models/unsubscribe', { model_id: model.id }, account.token);
}

async function fleet(): Promise<void> {
  const { rid, node: runner } = await runOneRequest(plane);
  await goAll('GET /running-requests');
  await go(`POST /running-requests/${rid}/end`, { reason: 'walked' });
  runner.stop();
  const node = await go('POST /proxy-nodes', { name: 'walked', url: 'http://127.0.0.1:9' });
  await go(`PUT /proxy-nodes/${node.id}`, { name: 'walked-on' });
  await go(`POST /proxy-nodes/${node.id}/toggle`, { enabled: true });
  await goAll(
    'GET /proxy-nodes',
    `GET /proxy-nodes/${node.id}`,
    'POST /proxy-nodes/sync-all',
    `POST /proxy-nodes/${node.id}/sync-config`,
  );
  await goAll(
    'GET /proxy/status',
    'POST /proxy/stop',
    'POST /proxy/start',
    'POST /proxy/reload',
    'POST /proxy/sync-config',
    'GET /proxy/config-check',
    'GET /proxy/stats',
    'GET /proxy/stats/dict',
    'GET /proxy/health',
  );
  const [{ version }] = (await go('GET /snapshots')).data;
  await goAll(
    `GET /snapshots/${version}`,
    `GET /snapshots/${version}/diff`,
    `POST /snapshots/${version}/rollback`,
    'GET /admin/alerts',
    'POST /snapshots/unpin',
    'GET /proxy/config-check',
    `DELETE /proxy-nodes/${node.id}`,
  );
}

test('every route of the API document succeeds, with the documented answer', async () => {
  await accounts();
  const { modelId, routeId, upstreamId } = await catalogue();
  await moneyAndKeys(modelId);
  await walkBulk(go);
  await budgets();
  await usage();
  await fleet();
  await goAll(
    'GET /admin/dashboard',
    'GET /upstreams/presets',
    'POST /admin/books/run',
    'GET /admin/books',
    'GET /activity/logs',
    `DELETE /routing/${routeId}`,
    `DELETE /upstreams/${upstreamId}/credentials/0`,
    `DELETE /upstreams/${upstreamId}`,
    `DELETE /models/${modelId}?refund=true`,
  );
  const reader = await readEvents(plane, { token: plane.adminToken });
  reader.close();

  const documented = Object.entries(plane.documented.document.paths).flatMap(([path, item]) =>
    Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
  );
  const administered = documented.filter((route) => route.includes(' /admin-api/'));
  expect(administered.filter((route) => !plane.documented.succeeded.has(route))).toEqual([]);
}, 60_000);
