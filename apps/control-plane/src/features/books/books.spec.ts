import { expect, test } from '@jest/globals';
import { USAGE_QUEUE } from '@tollgate/contracts';
import { BULL_PREFIX, openRedis } from '@tollgate/keyspace';
import { eventually } from '@tollgate/harness';
import { Queue } from 'bullmq';
import { ledger, plane, shareLedgerPlane } from '../../testing/ledger-plane-under-test.ts';

shareLedgerPlane();

interface Check {
  name: string;
  is_sound: boolean | null;
  problems: number;
  proven_at: string | null;
  example: unknown;
}
const read = async () => (await ledger.asAdmin('GET', '/admin/books')).body;
async function audit(): Promise<Map<string, Check>> {
  const startedAt = Date.now() - 1_000;
  await eventually(async () =>
    expect((await ledger.asAdmin('POST', '/admin/books/run')).body.running_since).not.toBeNull(),
  );
  const { checks } = await eventually(async () => {
    const now = await read();
    expect(now.running_since).toBeNull();
    expect(Date.parse(now.checks[0].checked_at)).toBeGreaterThan(startedAt);
    return now;
  }, 40_000);
  return new Map(checks.map((check: Check) => [check.name, check]));
}

test('an audit proves each equality, finds what is broken, and remembers when it last held', async () => {
  expect((await read()).checks.every(({ is_sound }: Check) => is_sound === null)).toBe(true);
  const [account, model] = [await ledger.account('10'), await ledger.model('1')];
  await plane.call('POST', '/models/subscribe', {
    token: account.token,
    body: { model_id: model.id, tokens: 1_000 },
  });
  const sound = await audit();
  expect([...sound.values()].filter(({ is_sound }) => is_sound !== true)).toEqual([]);

  await ledger.query('UPDATE subscriptions SET balance = balance - 1');
  const broken = await audit();
  await ledger.query('UPDATE subscriptions SET balance = balance + 1');
  for (const name of ['token_balances', 'token_lots'])
    expect(broken.get(name)).toMatchObject({
      is_sound: false,
      problems: 1,
      example: { subscription_id: expect.any(Number) },
      proven_at: sound.get(name)?.proven_at,
    });
  expect(broken.get('wallets')?.is_sound).toBe(true);
}, 120_000);

test('of several asked for at once one runs', async () => {
  await eventually(async () => expect((await read()).running_since).toBeNull(), 40_000);
  const before = await ledger.query("SELECT 1 FROM activity_log WHERE action = 'books.audit'");
  await Promise.all(Array.from({ length: 8 }, () => ledger.asAdmin('POST', '/admin/books/run')));
  const after = await ledger.query("SELECT 1 FROM activity_log WHERE action = 'books.audit'");
  expect(after.length - before.length).toBe(1);
}, 60_000);

test('counts the jobs that are not booked yet', async () => {
  await eventually(async () => expect((await read()).waiting_jobs).toBe(0));
  const connection = openRedis(plane.services.redisUrl, {
    role: 'plain',
    name: 'spec',
    onError: () => undefined,
  });
  const queue = new Queue(USAGE_QUEUE, { connection, prefix: BULL_PREFIX });
  try {
    const { id = '' } = await queue.add('later', {}, { delay: 3_600_000 });
    expect((await read()).waiting_jobs).toBe(1);
    await queue.remove(id);
    expect((await read()).waiting_jobs).toBe(0);
  } finally {
    await queue.close();
    connection.disconnect();
  }
}, 60_000);
