import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { closeClient } from '@tollgate/audit';
import {
  createCustomer,
  createRoutedModel,
  startTollgate,
  type Tollgate,
  until,
} from '@tollgate/harness';
import { syncOutcomes } from './fleet-view.ts';
import { closeBooks, setScene, SteadyLoad, type Scene } from './steady-load.ts';

/** Redis runs behind a sentinel here: its primary dies, its replica takes over. */
let tollgate: Tollgate;
let scene: Scene;

beforeAll(async () => {
  tollgate = await startTollgate({ nodes: 2, redis: 'sentinel', env: { HOLD_LEASE_MS: '6000' } });
  scene = await setScene(tollgate);
}, 90_000);
afterAll(async () => {
  closeClient();
  await tollgate?.stop();
}, 30_000);

test('after a failover service comes back by itself, and the books close: tokens that were withdrawn right before it stay withdrawn', async () => {
  const [customer, model] = [await createCustomer(tollgate), await createRoutedModel(tollgate)];
  await customer.client.subscribe({ model_id: model.id, tokens: 1_000_000 });
  const load = new SteadyLoad(tollgate.nodeUrls, scene, { clients: 4 });
  await until('a running load', () => load.count('completed') > 40);
  // The replica is a moment behind: the primary alone knows of the withdrawal.
  await tollgate.kill('redis-2', 'SIGSTOP');
  await customer.client.call('POST', '/models/unsubscribe', { model_id: model.id });
  await tollgate.kill('redis-1');
  await tollgate.kill('redis-2', 'SIGCONT');
  const failed = load.count('completed');
  await until(
    'service from the promoted replica',
    () => load.count('completed') > failed + 40,
    40_000,
  );
  expect(await syncOutcomes(tollgate)).toEqual({ 'node-1': 'applied', 'node-2': 'applied' });
  await closeBooks(tollgate, await load.stop(), { wereKilled: true });
}, 150_000);
