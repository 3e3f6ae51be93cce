import { beforeAll, expect, describe, test } from '@jest/globals';
import { Epochs, shardOf, type RedisConnection } from '@tollgate/keyspace';
import { eventually } from '@tollgate/harness';
import type { ControlPlane } from '../../testing/control-plane-under-test.ts';
import { ledgerOf } from '../../testing/ledger-under-test.ts';
import { reapedRequest } from '../../testing/reaped-under-test.ts';
import { sharedControlPlane } from '../../testing/shared-plane-under-test.ts';
import { REDIS } from '../../platform/redis/redis.module.ts';
import { EpochsService } from '../epochs/epochs.service.ts';
import { Reconciler } from './reconciler.service.ts';

const BOUGHT = 10_000;

describe('a key of a type that Tollgate does not write', () => {
  let plane: ControlPlane;
  let ledger: ReturnType<typeof ledgerOf>;
  let redis: RedisConnection;
  beforeAll(async () => {
    plane = await sharedControlPlane();
    ledger = ledgerOf(plane);
    redis = plane.app.get(REDIS);
    await ledger.initialiseShards();
  }, 60_000);

  const subscribed = async () => {
    const [account, model] = [await ledger.account('1000'), await ledger.model('1')];
    await plane.call('POST', '/models/subscribe', {
      token: account.token,
      body: { model_id: model.id, tokens: BOUGHT },
    });
    return { account, model };
  };

  test.each(['sub', 'acct', 'subs', 'outbox', 'holds', 'reaped', 'relay', 'time', 'epoch'])(
    'in place of %s is replaced by the reconciliation, with an alert: the account is served again',
    async (kind) => {
      const { account, model } = await subscribed();
      const shard = shardOf(account.id, Number(plane.environment['SHARDS']));
      // No relay runs here: what other specs left would be waited for.
      await redis.del(`{${shard}}:outbox`);
      const own = {
        sub: `:${account.id}:${model.id}`,
        acct: `:${account.id}`,
        subs: `:${account.id}`,
      };
      const key = `{${shard}}:${kind}${own[kind as keyof typeof own] ?? ''}`;
      await redis.del(key);
      if (['relay', 'time', 'epoch'].includes(kind)) await redis.hset(key, 'of', 'another');
      else await redis.set(key, 'of another');
      await plane.app.get(Reconciler, { strict: false }).runAlone({ pauseMs: 10 });
      await plane.app.get(EpochsService, { strict: false }).ensureAll();
      await eventually(async () => expect(await plane.app.get(Epochs).isOpen(shard)).toBe(true));
      expect(await ledger.live(account, model)).toMatchObject({ balance: BOUGHT, held: 0 });
      // The account is admitted, checkpointed and reaped: every function that meets the key works.
      await reapedRequest(plane, { account, model }, 100);
      expect(await ledger.live(account, model)).toMatchObject({ balance: BOUGHT - 100 });
      await redis.del(`{${shard}}:outbox`, `{${shard}}:reaped`);
      const alerts = await ledger.query(
        `SELECT message FROM alerts WHERE resolved_at IS NULL AND (rule = 'redis_tampered' AND message LIKE $1 OR rule = 'drift' AND message LIKE '%could not be read%')`,
        [`%${key}%`],
      );
      expect(alerts.length).toBeGreaterThan(0);
    },
  );
});
