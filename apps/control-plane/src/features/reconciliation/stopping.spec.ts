import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { NO_USAGE, type UsageFinal } from '@tollgate/contracts';
import { LiveRecords, shardOf } from '@tollgate/keyspace';
import { eventually } from '@tollgate/harness';
import { DataSource } from 'typeorm';
import { startControlPlane, type ControlPlane } from '../../testing/control-plane-under-test.ts';
import { keysOf } from '../../testing/drift-under-test.ts';
import { ledgerOf } from '../../testing/ledger-under-test.ts';
import { REDIS } from '../../platform/redis/redis.module.ts';
import { Reconciler } from './reconciler.service.ts';
import { UseGuard } from './use-guard.ts';

const STOPPED_WITHIN_MS = 5_000;

let plane: ControlPlane;
let isStopped = false;
beforeAll(async () => {
  plane = await startControlPlane();
}, 60_000);
afterAll(async () => {
  if (!isStopped) await plane?.app.close();
  await plane?.services.stop();
});

test('a control plane stops within seconds while usage is not booked, and closes no alert about a balance that it could not compare', async () => {
  const ledger = ledgerOf(plane);
  await ledger.initialiseShards();
  const [account, model] = [await ledger.account('1000'), await ledger.model('1')];
  await plane.call('POST', '/models/subscribe', {
    token: account.token,
    body: { model_id: model.id, tokens: 1_000 },
  });
  const { id } = await ledger.subscription(account, model);
  const redis = plane.app.get(REDIS);
  const record = keysOf(plane, account.id, model.id);
  const [reconciler, guard] = [plane.app.get(Reconciler), plane.app.get(UseGuard)];
  await redis.hincrby(record, 'bal', 5);
  expect(await reconciler.runAlone({ pauseMs: 10 })).toBe(1);
  await eventually(async () =>
    expect(await ledger.live(account, model)).toMatchObject({ balance: 1_000, creditSeq: 2 }),
  );

  // No relay runs: this event stays, and with it whatever waits until it is booked.
  const shard = shardOf(account.id, Number(plane.environment['SHARDS']));
  await redis.xadd(`{${shard}}:outbox`, '*', 'rid', 'x');
  await redis.hincrby(record, 'bal', 7);
  const looked = jest.spyOn(plane.app.get(LiveRecords), 'oldestEvent');
  guard.used([finalOf({ account_id: account.id, model_id: model.id, subscription_id: id })]);
  await eventually(async () => expect(looked.mock.calls.length).toBeGreaterThan(1));

  const startedMs = performance.now();
  await plane.app.close();
  isStopped = true;
  expect(performance.now() - startedMs).toBeLessThan(STOPPED_WITHIN_MS);
  expect(await openAlerts(id)).toBe(1);
});

function finalOf(ids: Pick<UsageFinal, 'account_id' | 'model_id' | 'subscription_id'>): UsageFinal {
  return {
    ...{ kind: 'usage', key_id: 1, price_version_id: 1, node: 'node-a:0', protocol: 'chat' },
    ...{ is_stream: false, upstream_id: 1, attempts: [], outcome: 'completed', status: 200 },
    ...{ ...NO_USAGE, charge: 0, basis: 'reported', started_at: 0 },
    ...{ first_token_ms: null, duration_ms: 1 },
    ...ids,
  } as unknown as UsageFinal;
}

async function openAlerts(id: number): Promise<number> {
  const source = await new DataSource({
    type: 'postgres',
    url: plane.services.databaseUrl,
  }).initialize();
  try {
    const [{ open }] = await source.query(
      "SELECT count(*)::int AS open FROM alerts WHERE rule = 'drift' AND subject = $1 AND resolved_at IS NULL",
      [`subscription:${id}`],
    );
    return open;
  } finally {
    await source.destroy();
  }
}
