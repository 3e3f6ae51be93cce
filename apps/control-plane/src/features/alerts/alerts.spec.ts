import { createHmac, randomBytes } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { eventually } from '@tollgate/harness';
import { startControlPlane, type ControlPlane } from '../../testing/control-plane-under-test.ts';
import { AlertsService } from './alerts.service.ts';
import { TamperWatch } from './tamper-watch.ts';
import { BalanceWatch } from '../subscriptions/balance-watch.ts';

interface Received {
  id: string;
  event: string;
  alert: { rule: string; status: string };
}

const secret = randomBytes(32).toString('base64url');
let receiver: Server;
let statusToAnswer = 200;
const received: Received[] = [];
const forged: string[] = [];
let plane: ControlPlane;
let alerts: AlertsService;

beforeAll(async () => {
  receiver = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString();
      const [, seconds, signature] =
        /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(request.headers['x-tollgate-signature'])) ?? [];
      if (signature === createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex'))
        received.push(JSON.parse(body));
      else forged.push(body);
      response.writeHead(statusToAnswer, { location: 'http://127.0.0.1:1/' }).end();
    });
  });
  await new Promise<void>((resolve) => void receiver.listen(0, '127.0.0.1', resolve));
  const { port } = receiver.address() as AddressInfo;
  plane = await startControlPlane({
    ALERT_WEBHOOK_URL: `http://127.0.0.1:${port}/hook?team=a`,
    ALERT_WEBHOOK_SECRET: secret,
  });
  alerts = plane.app.get(AlertsService);
}, 60_000);
afterAll(async () => {
  await plane?.stop();
  receiver.close();
});
beforeEach(() => {
  received.length = 0;
  statusToAnswer = 200;
});

const overdraft = (id: number) => ({ rule: 'overdraft', subject: `subscription:${id}` }) as const;
const list = (query: `?${string}`) =>
  plane.call('GET', `/admin/alerts${query}`, { token: plane.adminToken });
const pending = async (): Promise<number> =>
  (await plane.dataSource.query('SELECT count(*)::int AS n FROM alert_deliveries'))[0].n;

test('one alert is open per rule and subject, however often and by however many it is raised', async () => {
  await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      alerts.raise(plane.dataSource.manager, { ...overdraft(1), message: `seen ${index}` }),
    ),
  );
  const open = await list('?rule=overdraft&subject=subscription:1');
  expect(open.body).toMatchObject({
    total: 1,
    data: [{ severity: 'warning', status: 'open', resolved_at: null }],
  });
  await Promise.all([1, 2].map(() => alerts.resolve(plane.dataSource.manager, overdraft(1))));
  expect((await list('?rule=overdraft')).body.total).toBe(0);
  expect((await list('?rule=overdraft&status=resolved')).body.total).toBe(1);
  await alerts.raise(plane.dataSource.manager, { ...overdraft(1), message: 'again' });
  expect((await list('?rule=overdraft&status=all')).body.total).toBe(2);
  await alerts.resolve(plane.dataSource.manager, overdraft(1));
  await eventually(async () => expect(await pending()).toBe(0));
});

describe('the webhook', () => {
  test('is notified once, with a signature, when an alert is raised and when it is resolved', async () => {
    for (const message of ['first', 'second'])
      await alerts.raise(plane.dataSource.manager, { ...overdraft(2), message });
    await eventually(async () =>
      expect(received).toMatchObject([
        { event: 'alert.raised', alert: { rule: 'overdraft', status: 'open' } },
      ]),
    );
    await alerts.resolve(plane.dataSource.manager, overdraft(2));
    await eventually(async () =>
      expect(received.map(({ event }) => event)).toEqual(['alert.raised', 'alert.resolved']),
    );
    await eventually(async () => expect(await pending()).toBe(0));
    expect(forged).toEqual([]);
  });

  test('is tried again until it takes an alert; a redirect is a failure and is not followed (S7)', async () => {
    statusToAnswer = 302;
    await alerts.raise(plane.dataSource.manager, { ...overdraft(3), message: 'once' });
    await eventually(async () => expect(received).toHaveLength(1));
    expect(await pending()).toBe(1);
    statusToAnswer = 204;
    await plane.dataSource.query('UPDATE alert_deliveries SET due_at = now()');
    await eventually(async () => expect(await pending()).toBe(0));
    expect(new Set(received.map(({ id }) => id)).size).toBe(1);
    await alerts.resolve(plane.dataSource.manager, overdraft(3));
  });

  test('receives nothing of an alert whose transaction rolled back', async () => {
    await plane.dataSource
      .transaction(async (tx) => {
        await alerts.raise(tx, { ...overdraft(4), message: 'never' });
        throw new Error('roll back');
      })
      .catch(() => undefined);
    expect((await list('?subject=subscription:4&status=all')).body.total).toBe(0);
  });
});

test('a low balance raises an alert at a tenth of the last purchase, and the next one or auto-recharge resolves it', async () => {
  const { id: userId, token } = await plane.createUser('spender');
  const { body: model } = await plane.call('POST', '/models', {
    token: plane.adminToken,
    body: { name: 'thirsty', price: { price_per_million: '1' }, is_on_shelf: true },
  });
  await plane.call('POST', '/wallet/admin-recharge', {
    token: plane.adminToken,
    body: { user_id: userId, amount: '100' },
  });
  expect(
    (
      await plane.call('POST', '/models/subscribe', {
        token,
        body: { model_id: model.id, tokens: 40_000 },
      })
    ).status,
  ).toBe(201);
  const watch = plane.app.get(BalanceWatch, { strict: false });
  await watch.look();
  expect((await list('?rule=low_balance')).body.total).toBe(0);
  await plane.dataSource.query('UPDATE subscriptions SET balance = 4000 WHERE user_id = $1', [
    userId,
  ]);
  await watch.look();
  await watch.look();
  expect((await list('?rule=low_balance')).body).toMatchObject({
    total: 1,
    data: [
      {
        subject_name: 'spender · thirsty',
        subject_user_id: userId,
        message: '4,000 of the 40,000 tokens of the last purchase are left',
        detail: { user_id: userId, model_id: model.id },
      },
    ],
  });
  await plane.dataSource.query('UPDATE subscriptions SET balance = 4001 WHERE user_id = $1', [
    userId,
  ]);
  await watch.look();
  expect((await list('?rule=low_balance')).body.total).toBe(0);
});

test('an alert of a changed Redis closes an hour after the last finding, whichever process had it, although no usage is booked', async () => {
  const tampered = { rule: 'redis_tampered', subject: 'usage' } as const;
  const watch = plane.app.get(TamperWatch, { strict: false });
  const openAfter = async (minutes: number): Promise<number> => {
    await plane.dataSource.query(
      "UPDATE alerts SET last_seen_at = now() - $1 * interval '1 minute' WHERE rule = 'redis_tampered'",
      [minutes],
    );
    await watch.look();
    return (await list('?rule=redis_tampered')).body.total;
  };
  await alerts.raise(plane.dataSource.manager, { ...tampered, message: 'forged events' });
  expect(await openAfter(59)).toBe(1);
  await alerts.raise(plane.dataSource.manager, { ...tampered, message: 'more forged events' });
  await watch.look();
  expect((await list('?rule=redis_tampered')).body.total).toBe(1);
  expect(await openAfter(61)).toBe(0);
});
