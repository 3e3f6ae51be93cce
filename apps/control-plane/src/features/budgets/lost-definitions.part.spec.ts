import { describe, expect, test } from '@jest/globals';
import { OTHER_MODEL } from '@tollgate/contracts';
import { keysLike, type RedisConnection } from '@tollgate/keyspace';
import { uuidv7 } from '../../platform/http/visitor.ts';
import { REDIS } from '../../platform/redis/redis.module.ts';
import {
  admit,
  as,
  book,
  ofAccount,
  parts,
  set,
  tenant,
  usageOf,
} from '../../testing/budgets-under-test.ts';
import { ledger, plane, worker } from '../../testing/ledger-plane-under-test.ts';
import { reapEvent, usageEvent } from '../../testing/ledger-under-test.ts';
import { ShardEpochs } from '../epochs/shard-epochs.sql.ts';

const HOUR_MS = 3_600_000;

describe('a budget whose definition Redis has lost with the end of its file', () => {
  test('counts what was admitted meanwhile, and holds again', async () => {
    const { body } = await set({ period: 'none' });
    await loseBudgets();
    const admitted = await admit({ wantTokens: 5_000 });
    expect(admitted).toMatchObject({ kind: 'admitted', grantedTokens: 5_000, claims: '' });
    await worker.process([usageEvent(700, await parts())]);
    expect(await usageOf(body.id)).toMatchObject({ used: '700' });
    expect(await admit()).toMatchObject({ kind: 'admitted', grantedTokens: 300 });
    expect(await claimsOf(body.id)).toEqual([`${body.id}:0:1000000`]);
    expect(await ledger.violations()).toEqual({});
  });

  test('counts each unit as admission does, corrections once, and a fallback as no second request', async () => {
    const { body: money } = await set({ unit: 'money', amount: '1', period: 'none' });
    const { body: requests } = await ofAccount({ unit: 'requests', amount: 9, period: 'day' });
    const { body: tokens } = await ofAccount({ unit: 'tokens', amount: 900, period: 'none' });
    const { body: sessions } = await set({ scope: { sessions_of: { key_id: tenant.key.id } } });
    const used = async () =>
      Promise.all(
        [money, requests, tokens, sessions].map(async ({ id }) => (await usageOf(id)).used),
      );
    const of = await parts();
    await worker.process([usageEvent(10, of)]);
    expect(await used()).toEqual(['0.00002', '1', '10', '0']);
    const before = { upstream_id: 1, route_id: 1, error: OTHER_MODEL, duration_ms: 1 };
    await worker.process([usageEvent(20, { ...of, final: { attempts: [before] } })]);
    expect(await used()).toEqual(['0.00006', '1', '30', '0']);
    const reap = reapEvent(40, of);
    await worker.process([reap]);
    expect(await used()).toEqual(['0.00014', '1', '70', '0']);
    const final = usageEvent(30, { ...of, rid: reap.rid });
    await worker.process([final]);
    await worker.process([reap, final]);
    expect(await used()).toEqual(['0.00012', '1', '60', '0']);
    expect(await ledger.violations()).toEqual({});
  });

  test('counts a request in the period in which it was admitted, also after a reset', async () => {
    const { body: total } = await set({ period: 'none' });
    const { body: rolling } = await set({ period: 'rolling', window_minutes: 60 });
    const ids = [total.id, rolling.id];
    await ledger.query(
      "UPDATE budgets SET defined_at = now() - interval '1 minute' WHERE id = ANY($1)",
      [ids],
    );
    const beganAtMs = Date.now() - 30_000;
    for (const id of ids) await as('POST', `/budgets/${id}/reset`, { reason: 'too much' });
    await worker.process([await usageAt(beganAtMs)]);
    expect(await Promise.all(ids.map(async (id) => (await usageOf(id)).used))).toEqual(['0', '0']);
    const minute = Math.floor(beganAtMs / 60_000) * 60;
    expect(await claimsOf(total.id)).toEqual([
      `${total.id}:0:1000000,${rolling.id}:${minute}:1000000`,
    ]);
  });

  test('counts what a rotation of its key sends', async () => {
    const { body } = await set({ period: 'none' });
    const { body: rotated } = await as('POST', `/keys/${tenant.key.id}/rotate`);
    await worker.process([usageEvent(8, { ...(await parts()), keyId: rotated.id })]);
    expect(await usageOf(body.id)).toMatchObject({ used: '8' });
  });

  test('does not count in Redis when usage of a journal comes out of its outbox, too', async () => {
    const { body } = await set({ period: 'none' });
    const { body: known } = await set({ period: 'none' });
    const final = { budgets: `${known.id}:0:1000000` };
    const event = usageEvent(30, { ...(await parts()), final });
    const shard = plane.app.get(ShardEpochs).shardOf(tenant.account.id);
    const [{ epoch }] = await ledger.query('SELECT epoch FROM shard_epochs WHERE shard = $1', [
      shard,
    ]);
    await worker.process([{ ...event, shard, epoch: 'gone' }]);
    await worker.process([{ ...event, shard, epoch }]);
    expect(
      await ledger.query(
        'SELECT used::int, late::int FROM budget_periods WHERE budget_id = ANY($1) ORDER BY budget_id',
        [[body.id, known.id]],
      ),
    ).toEqual([
      { used: 30, late: 30 },
      { used: 30, late: 0 },
    ]);
  });

  test('counts no request that was before it, is much later, or is of another key or model', async () => {
    const early = await usageAt(Date.now() - 1_000);
    const { body } = await set({ period: 'none' });
    const { body: others } = await set({ period: 'none', models: 'gpt-*' });
    const { body: second } = await as('POST', '/keys', { name: 'second' });
    const ofOther = usageEvent(20, { ...(await parts()), keyId: second.id });
    await worker.process([early, ofOther, await usageAt(Date.now() + 2 * HOUR_MS)]);
    expect(await usageOf(body.id)).toMatchObject({ used: '0' });
    await worker.process([usageEvent(5, await parts())]);
    expect(await usageOf(body.id)).toMatchObject({ used: '5' });
    expect(await usageOf(others.id)).toMatchObject({ used: '0' });
    await as('PUT', `/budgets/${others.id}`, { models: 'model-*' });
    await book(7, `${body.id}:0:1000000`);
    expect(await usageOf(body.id)).toMatchObject({ used: '12' });
    expect(await usageOf(others.id)).toMatchObject({ used: '7' });
  });
});

/** Takes the budgets out of the live records of key and account, as they were before. */
async function loseBudgets(): Promise<void> {
  const redis: RedisConnection = plane.app.get(REDIS);
  const records = await Promise.all(
    [`*:key:${tenant.key.hash}`, `*:acct:${tenant.account.id}`].map((name) =>
      keysLike(redis, name),
    ),
  );
  expect(records.flat()).toHaveLength(2);
  for (const record of records.flat()) await redis.hset(record, 'bud', '');
}

async function usageAt(unixMs: number) {
  return usageEvent(10, { ...(await parts()), rid: uuidv7(unixMs) });
}

async function claimsOf(id: number): Promise<string[]> {
  const rows: { budgets: string }[] = await ledger.query(
    "SELECT budgets FROM usage_events WHERE budgets LIKE '%' || $1 || ':%' ORDER BY seq",
    [id],
  );
  return rows.map(({ budgets }) => budgets);
}
