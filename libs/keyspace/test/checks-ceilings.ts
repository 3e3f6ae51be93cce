import assert from 'node:assert/strict';
import { LiveCounts } from '../src/index.ts';
import { keys } from '../src/keys.ts';
import { reapedAt, settle } from './tenant-acts.ts';
import {
  credit,
  MODEL_ID,
  openAccount,
  putSubscription,
  request,
  SHARDS,
  SUBSCRIPTION_ID,
  type Checks,
  type Tenant,
} from './world.ts';

const RAISED = 50_000_000;
const recordOf = ({ shard, accountId }: Tenant): string =>
  keys.subscription(shard, accountId, MODEL_ID);

/** Asks for more than there is, and settles it; answers what was granted. */
async function spend(tenant: Tenant, wantTokens = 2_000_000): Promise<number> {
  const asked = request(tenant, { wantTokens, minTokens: 1 });
  const reply = await tenant.store.admit(asked);
  if (reply.kind !== 'admitted') return 0;
  await settle(tenant, asked.rid, reply.grantedTokens);
  return reply.grantedTokens;
}

/** A program that may write keys raises a balance: 1,000 tokens were bought. */
export const ceilingChecks: Checks = {
  'a balance that was raised in Redis is spent up to what was bought, however often it is raised':
    async (world) => {
      const tenant = await world.tenant();
      await openAccount(tenant);
      let spent = 0;
      for (let nth = 0; nth < 20; nth += 1) {
        await tenant.redis.hset(recordOf(tenant), 'bal', String(RAISED));
        spent += await spend(tenant, 300);
      }
      assert.equal(spent, 1_000);
    },

  'a record that is put back as it was before its tokens were spent brings none back': async (
    world,
  ) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    const whole = await tenant.redis.hgetall(recordOf(tenant));
    let spent = 0;
    for (let nth = 0; nth < 5; nth += 1) {
      spent += await spend(tenant, 400);
      await tenant.redis.del(recordOf(tenant));
      await tenant.redis.hset(recordOf(tenant), whole);
    }
    assert.equal(spent, 1_000);
  },

  'a record that is removed gets its credits again, and no tokens that were spent': async (
    world,
  ) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    assert.equal(await spend(tenant, 900), 900);
    await tenant.redis.del(recordOf(tenant));
    await putSubscription(tenant, { revision: 2 });
    await credit(tenant, 1, 1_000);
    assert.ok((await spend(tenant)) <= 100);
  },

  'a hold that is put back as it was when it was reaped gives back once': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    const rid = await reapedAt(tenant, 90);
    const hold = keys.hold(tenant.shard, rid);
    const packed = (await tenant.redis.getBuffer(hold)) ?? Buffer.of();
    for (let nth = 0; nth < 5; nth += 1) {
      await tenant.redis.set(hold, packed);
      await settle(tenant, rid, 10);
    }
    assert.equal(await spend(tenant), 990);
  },

  'what is bought while a balance is raised can be spent, and the excess not, also after it was taken out':
    async (world) => {
      const tenant = await world.tenant();
      await openAccount(tenant);
      await tenant.redis.hincrby(recordOf(tenant), 'bal', RAISED);
      await credit(tenant, 2, 500);
      await credit(tenant, 3, -RAISED);
      assert.equal(await spend(tenant), 1_500);
    },

  'what the ledger agrees with can be spent, whatever the server remembers': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    await tenant.redis.hset(recordOf(tenant), 'bal', '0');
    assert.equal(await spend(tenant), 0);
    await tenant.redis.hset(recordOf(tenant), 'bal', '700');
    const { library, epochCache: epochs, accountId } = tenant;
    const counts = new LiveCounts({ library, epochs, shards: SHARDS });
    const mark = { accountId, modelId: MODEL_ID, id: SUBSCRIPTION_ID };
    await counts.vouch({ ...mark, balance: 699 });
    assert.equal(await spend(tenant), 0);
    await counts.vouch({ ...mark, balance: 700 });
    assert.equal(await spend(tenant), 700);
  },
};
