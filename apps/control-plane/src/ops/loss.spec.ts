import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { LiveStatePump } from '../features/live-state/live-state-pump.ts';
import { carryOutPromises } from '../features/usage/ingest/offline-ingest.ts';
import { REDIS } from '../platform/redis/redis.module.ts';
import { startControlPlane, type ControlPlane } from '../testing/control-plane-under-test.ts';
import { ledgerOf } from '../testing/ledger-under-test.ts';
import { readLoss } from './loss.ts';

let plane: ControlPlane;
let ledger: ReturnType<typeof ledgerOf>;
beforeAll(async () => {
  plane = await startControlPlane();
  ledger = ledgerOf(plane);
  await ledger.initialiseShards();
  // No control plane carries out what is promised.
  const pump = plane.app.get(LiveStatePump, { strict: false });
  jest.spyOn(pump, 'sweep').mockResolvedValue();
}, 60_000);
afterAll(() => plane?.stop());

/** Makes 1,000 tokens that Redis has, and an act that is promised to it and older than the call that made it. */
async function promised(
  path: '/models/renew' | '/models/unsubscribe',
  more: { tokens?: number } = {},
) {
  const [account, model] = [await ledger.account('10'), await ledger.model('1')];
  const post = (to: '/models/subscribe' | typeof path, body: object) =>
    plane.call('POST', to, { token: account.token, body: { model_id: model.id, ...body } });
  await post('/models/subscribe', { tokens: 1_000 });
  const pump = plane.app.get(LiveStatePump, { strict: false });
  const deliver = jest.spyOn(pump, 'deliver').mockResolvedValue();
  await post(path, more);
  deliver.mockRestore();
  await ledger.query("UPDATE live_state_outbox SET created_at = created_at - interval '1 minute'");
  return { account, model };
}

const waiting = () => ledger.query('SELECT kind FROM live_state_outbox');

test('writes that a backup had promised are carried out, and are no loss, when no control plane does it', async () => {
  const { account, model } = await promised('/models/renew', { tokens: 500 });
  expect(await ledger.live(account, model)).toMatchObject({ balance: 1_000 });
  const redis = plane.app.get(REDIS);
  // Nothing changes, and no write is waited for that no process carries out.
  expect(await readLoss(plane.dataSource, redis, { isDryRun: true })).toMatchObject([
    { user_id: account.id, book_tokens: 1_500, redis_tokens: 1_000 },
  ]);
  expect(await waiting()).not.toEqual([]);
  expect(await readLoss(plane.dataSource, redis, { isDryRun: false })).toEqual([]);
  expect(await ledger.live(account, model)).toMatchObject({ balance: 1_500, creditSeq: 2 });
  expect(await waiting()).toEqual([]);
}, 60_000);

test('a withdrawal among them is booked and refunded', async () => {
  const { account, model } = await promised('/models/unsubscribe');
  expect(await ledger.subscription(account, model)).toMatchObject({ status: 'closing' });
  const config = { SHARDS: Number(plane.environment['SHARDS']) };
  await carryOutPromises(plane.dataSource, plane.app.get(REDIS), config);
  expect(await ledger.subscription(account, model)).toMatchObject({ status: 'closed' });
  expect(await ledger.wallet(account)).toBe(10_000_000n);
  expect(await ledger.violations()).toEqual({});
}, 60_000);
