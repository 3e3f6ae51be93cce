import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { ledgerOf, usageEvent, type TestAccount } from '../../testing/ledger-under-test.ts';
import {
  FLEET_CREDENTIAL,
  startControlPlane,
  type ControlPlane,
} from '../../testing/control-plane-under-test.ts';
import { UsageWorker } from '../usage/ingest/usage-worker.ts';

let plane: ControlPlane;
beforeAll(async () => {
  plane = await startControlPlane();
  await ledgerOf(plane).initialiseShards();
}, 60_000);
afterAll(() => plane?.stop());

const scrape = async (accept = '*/*'): Promise<string> => {
  const answer = await fetch(`${plane.url}/metrics`, {
    headers: { authorization: `Bearer ${FLEET_CREDENTIAL}`, accept },
  });
  expect(answer.status).toBe(200);
  return answer.text();
};

async function budgetOf({ id, token }: TestAccount, amount: number): Promise<number> {
  const body = { scope: { user_id: id }, unit: 'tokens', amount, period: 'none' };
  return (await plane.call('POST', '/budgets', { token, body })).body.id;
}

test('metrics are for the holder of the credential (S45)', async () => {
  const denied = await fetch(`${plane.url}/metrics`);
  expect([denied.status, denied.headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
  const wrong = { authorization: `Bearer ${FLEET_CREDENTIAL}x` };
  expect((await fetch(`${plane.url}/metrics`, { headers: wrong })).status).toBe(401);
});

test('usage that was booked counts, with its lag, its request and the share of budgets that it used', async () => {
  const ledger = ledgerOf(plane);
  const [account, model] = [await ledger.account('1000'), await ledger.model('1')];
  await plane.call('POST', '/models/subscribe', {
    token: account.token,
    body: { model_id: model.id, tokens: 1000 },
  });
  const subscriptionId = (await ledger.subscription(account, model)).id;
  const [half, full] = [await budgetOf(account, 80), await budgetOf(account, 40)];
  const budgets = `${half}:0:1000000+5,${full}:0:1000000+5`;
  const event = usageEvent(40, { account, model, subscriptionId, final: { budgets } });
  const worker = plane.app.get(UsageWorker);
  // The event comes twice: a duplicate is not counted again.
  await worker.process([event]);
  await worker.process([event]);
  const text = await scrape('application/openmetrics-text');
  expect(text).toContain('tollgate_charged_tokens_booked_total 40\n');
  expect(text).toContain('tollgate_settlement_lag_seconds_count 1\n');
  expect(text).toContain(`# {request_id="${event.rid}"}`);
  const plain = await scrape();
  expect(plain).not.toContain('request_id');
  for (const line of [
    'tollgate_budget_used_share{scope="account",unit="tokens"} 1',
    'tollgate_budgets{scope="account",unit="tokens",is_used_up="true"} 1',
    'tollgate_budgets{scope="account",unit="tokens",is_used_up="false"} 1',
    'tollgate_budget_used_share{scope="end_user",unit="money"} 0',
    'tollgate_budgets{scope="key",unit="requests",is_used_up="false"} 0',
  ])
    expect(plain).toContain(`${line}\n`);
});

test('an event that cannot be booked shows as a dead letter and as its alert; the ledger adds up to 0', async () => {
  const value = (text: string, sample: string): number =>
    Number(
      text
        .split('\n')
        .find((line) => line.startsWith(`${sample} `))
        ?.split(' ')[1],
    );
  const alert = 'tollgate_alerts_open{rule="dead_letter",severity="critical"}';
  const before = await scrape();
  expect([value(before, 'tollgate_dead_letters_open'), value(before, alert)]).toEqual([0, 0]);
  const account = await ledgerOf(plane).account('0');
  const model = { id: 999_999, name: 'none', priceId: 999_999 };
  await plane.app
    .get(UsageWorker)
    .process([usageEvent(1, { account, model, subscriptionId: 999_999 })]);
  const text = await scrape();
  expect([value(text, 'tollgate_dead_letters_open'), value(text, alert)]).toEqual([1, 1]);
  const money = [...text.matchAll(/^tollgate_ledger_balance\{.*\} (\S+)$/gm)];
  expect(money.length).toBeGreaterThanOrEqual(4);
  expect(money.reduce((sum, [, amount]) => sum + Number(amount), 0)).toBeCloseTo(0);
});

test('an alert that closed before any scrape is counted as recent for 15 minutes', async () => {
  const { query } = ledgerOf(plane);
  for (const [shard, age] of [
    ['s90', '14 minutes'],
    ['s91', '16 minutes'],
  ])
    await query(
      `INSERT INTO alerts (rule, severity, subject, message, raised_at, last_seen_at, resolved_at)
       SELECT 'redis_data_lost', 'critical', $1, 'lost', at, at, at FROM (SELECT now() - $2::interval AS at) past`,
      [shard, age],
    );
  const text = await scrape();
  expect(text).toContain('tollgate_alerts_open{rule="redis_data_lost",severity="critical"} 0\n');
  expect(text).toContain('tollgate_alerts_recent{rule="redis_data_lost",severity="critical"} 1\n');
});

test('a route is counted as it is declared: neither an id nor an unknown path makes a label', async () => {
  await plane.call('GET', '/users/31337', { token: plane.adminToken });
  for (const path of ['/nothing-31337', '/admin-api/nothing-31337'])
    await fetch(`${plane.url}${path}`);
  const text = await scrape();
  expect(text).toMatch(
    /http_route="\/admin-api\/users\/:id",http_response_status_code="404"\} 1\n/,
  );
  expect(text).toMatch(/http_route="_none",http_response_status_code="404"\} 2\n/);
  expect(text).not.toContain('31337');
});

test('users whose names, ids, paths and headers are all their own make no series of their own', async () => {
  const visit = async (index: number): Promise<void> => {
    const name = `visitor-${index}"}\\{=,#`;
    const path = encodeURIComponent(name);
    const { token } = await plane.createUser(`visitor-${index}`);
    const headers = { authorization: `Bearer ${token}`, 'x-request-id': path, 'user-agent': path };
    await plane.call('POST', '/auth/register', { body: { username: name, password: name } });
    await plane.call('POST', '/auth/login', { body: { username: name, password: name } });
    await plane.call('POST', '/keys', { token, body: { name } });
    await plane.call('GET', `/users/${path}`, { token });
    for (const method of ['GET', 'DELETE', 'PROPFIND'])
      for (const at of [`/${path}`, `/admin-api/${path}`, `/admin-api/keys/${path}?q=${path}`])
        await fetch(`${plane.url}${at}`, { method, headers });
  };
  const series = (text: string): string[] =>
    text
      .split('\n')
      .filter((line) => /^(?:tollgate|http)_/.test(line))
      .map((line) => line.slice(0, line.lastIndexOf('} ') + 1));
  for (let index = 0; index < 3; index += 1) await visit(index);
  // A scrape is a request as well.
  await scrape();
  const known = new Set(series(await scrape()));
  for (let index = 3; index < 25; index += 1) await visit(index);
  const text = await scrape();
  expect(series(text).filter((name) => !known.has(name))).toEqual([]);
  expect(text).not.toMatch(/visitor|PROPFIND/);
}, 60_000);

test('docs/metrics.md lists every metric of a control plane, and no other', async () => {
  const document = await readFile(
    path.join(import.meta.dirname, '../../../../../docs/metrics.md'),
    'utf8',
  );
  const [own = '', ofBoth = ''] =
    document.split('## Of a control plane')[1]?.split('## Of both') ?? [];
  const names = (text: string): string[] =>
    [...text.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name ?? '');
  const text = await scrape();
  const exported = [...text.matchAll(/^# TYPE (\w+) /gm)].map(([, name]) => name ?? '');
  expect(exported.filter((name) => !/^(process|nodejs)_/.test(name)).toSorted()).toEqual(
    names(own).toSorted(),
  );
  expect(exported).toEqual(expect.arrayContaining(names(ofBoth)));
});

test('while Redis is away a scrape leaves out what it holds, says so, and gives the rest', async () => {
  const outbox = /^tollgate_outbox_events (\d+)$/m;
  const standing = (text: string, name: string): boolean =>
    text.includes(`tollgate_collector_success{collector="${name}"} 1\n`);
  const before = await scrape();
  expect(outbox.exec(before)?.[1]).toBe('0');
  expect(standing(before, 'outbox') && standing(before, 'queue')).toBe(true);
  await plane.services.redis.stop();
  const text = await scrape();
  expect(text).not.toMatch(outbox);
  expect(standing(text, 'outbox')).toBe(false);
  expect(standing(text, 'ledger')).toBe(true);
  expect(text).toMatch(/^tollgate_dead_letters_open \d+$/m);
});
