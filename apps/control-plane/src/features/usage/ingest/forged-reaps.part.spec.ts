import { beforeAll, describe, expect, test } from '@jest/globals';
import { hashCredential, holdSigner, parseApiKey, type RelayedEvent } from '@tollgate/contracts';
import { EpochCache, FunctionLibrary, MeteringStore, type HoldRef } from '@tollgate/keyspace';
import { alterHold, eventually } from '@tollgate/harness';
import { CONFIG } from '../../../config.ts';
import { uuidv7 } from '../../../platform/http/visitor.ts';
import { REDIS } from '../../../platform/redis/redis.module.ts';
import type { ControlPlane } from '../../../testing/control-plane-under-test.ts';
import {
  ledgerOf,
  reapEvent,
  usageEvent,
  type EventParts,
} from '../../../testing/ledger-under-test.ts';
import { sharedControlPlane } from '../../../testing/shared-plane-under-test.ts';
import { AlertsService } from '../../alerts/alerts.service.ts';
import { FinalProofs } from '../../proxy-nodes/final-proofs.ts';
import { UsageWorker } from './usage-worker.ts';

let plane: ControlPlane;
let ledger: ReturnType<typeof ledgerOf>;
let worker: UsageWorker;
let parts: EventParts;
let keyHash = '';

beforeAll(async () => {
  plane = await sharedControlPlane();
  ledger = ledgerOf(plane);
  worker = plane.app.get(UsageWorker, { strict: false });
  await ledger.initialiseShards();
  const [account, model] = [await ledger.account('1000'), await ledger.model('1')];
  await plane.call('POST', '/models/subscribe', {
    token: account.token,
    body: { model_id: model.id, tokens: 1_000_000 },
  });
  const { body } = await plane.call('POST', '/keys', {
    token: account.token,
    body: { name: 'reaped' },
  });
  keyHash = parseApiKey(body.key)?.hash ?? '';
  const { id: subscriptionId } = await ledger.subscription(account, model);
  parts = { account, model, subscriptionId, keyId: body.id };
}, 60_000);

async function charged(event: RelayedEvent): Promise<number> {
  const balance = async (): Promise<number> =>
    Number((await ledger.subscription(parts.account, parts.model)).balance);
  const before = await balance();
  await worker.process([event]);
  return before - (await balance());
}
const letters = (rid: string): Promise<{ reason: string }[]> =>
  ledger.query('SELECT reason FROM usage_dead_letters WHERE rid = $1', [rid]);
const withoutMac = (event: RelayedEvent): RelayedEvent => {
  const { mac: _mac, ...payload } = JSON.parse(event.payload);
  return { ...event, payload: JSON.stringify(payload) };
};
/** Judges the event with what PostgreSQL says of the nodes now. */
async function isBelieved(event: RelayedEvent): Promise<boolean> {
  const proofs = new FinalProofs(
    plane.dataSource,
    plane.app.get(AlertsService, { strict: false }),
    plane.app.get(CONFIG),
  );
  const { believed, finals } = await proofs.judge([event]);
  expect(finals).toEqual([]);
  return believed.length === 1;
}

/** Opens Redis as a node with this credential uses it. */
const storeOf = (credential: string): MeteringStore =>
  new MeteringStore({
    library: plane.app.get(FunctionLibrary),
    epochs: plane.app.get(EpochCache),
    shards: Number(plane.environment['SHARDS']),
    signHold: holdSigner(hashCredential(credential)),
  });

/** Makes a hold that a node takes in Redis, checkpoints once, and leaves; returns what its relay reads when it was reaped. */
async function reaped(
  usedTokens: number,
  alter: (hold: string, request: HoldRef) => Promise<unknown> = () => Promise.resolve(),
): Promise<RelayedEvent> {
  const redis = plane.app.get(REDIS);
  const store = storeOf(plane.app.get(CONFIG).FLEET_CREDENTIAL);
  const [rid, accountId, modelId] = [uuidv7(Date.now()), parts.account.id, parts.model.id];
  const shard = store.shardOf(accountId);
  const who = { rid, accountId, modelId };
  const admitted = await store.admit({
    ...{ ...who, keyHash, modelName: parts.model.name, priceVersionId: parts.model.priceId },
    ...{ addressHex: '', node: 'node-a:0', wantTokens: 500, minTokens: 500 },
    ...{ concurrencyMax: 0, leaseMs: 60_000 },
  });
  expect(admitted.kind).toBe('admitted');
  const claims = admitted.kind === 'admitted' ? admitted.claims : '';
  await store.checkpoint({ ...who, ...stepOf('node-a', usedTokens), claims });
  await alter(`{${shard}}:hold:${rid}`, who);
  await eventually(async () => expect(await store.reap(who)).toMatchObject({ kind: 'reaped' }));
  const fields = (await redis.xrevrange(`{${shard}}:outbox`, '+', '-', 'COUNT', 1))[0]?.[1] ?? [];
  const [, , , seq = '', , delta = '', , payload = ''] = fields;
  return { shard, epoch: '', outboxId: '', rid, seq, delta, payload };
}

const stepOf = (node: string, usedTokens: number) => ({
  ...{ keyHash, usedTokens, node: `${node}:0` },
  ...{ extendTokens: 0, leaseMs: 1 },
});

describe('S53: reaps', () => {
  test('of a hold that a node took charge what the node signed last', async () => {
    const event = await reaped(120);
    expect(await charged(event)).toBe(120);
    expect(await letters(event.rid)).toEqual([]);
  });

  test('of a hold that counts against a budget charge what the node signed last, in that budget and no other', async () => {
    const body = { scope: { key_id: parts.keyId ?? 0 }, unit: 'charged_tokens', amount: 10_000 };
    const budget = await plane.call('POST', '/budgets', {
      token: parts.account.token,
      body: { ...body, period: 'day' },
    });
    expect(budget.status).toBe(201);
    const event = await reaped(120);
    const { budgets } = JSON.parse(event.payload);
    expect(budgets).toMatch(new RegExp(`^${budget.body.id}:\\d+:1000000$`));
    const moved = event.payload.replace(budgets, budgets.replace(/^\d+/, '999999'));
    expect(await isBelieved({ ...event, payload: moved })).toBe(false);
    expect(await charged(event)).toBe(120);
    expect(await letters(event.rid)).toEqual([]);
    await plane.call('DELETE', `/budgets/${budget.body.id}`, { token: parts.account.token });
  });

  test('of a hold whose journal moved twice charge what its last node signed, each node with a credential of its own', async () => {
    const names = ['moved-to-first', 'moved-to-last'] as const;
    for (const name of names)
      await ledger.query(
        `INSERT INTO proxy_nodes (name, credential_hash) VALUES ('${name}', '${hashCredential(`secret of ${name}`)}')`,
      );
    const event = await reaped(120, async (_hold, request) => {
      for (const [index, name] of names.entries())
        await storeOf(`secret of ${name}`).checkpoint({
          ...request,
          ...stepOf(name, 130 + index),
        });
    });
    expect(await charged(event)).toBe(131);
    expect(await letters(event.rid)).toEqual([]);
  });

  test('whose hold was raised or moved in Redis charge nothing; its final is booked when it arrives', async () => {
    const redis = plane.app.get(REDIS);
    const alterations = [
      (hold: string) => alterHold(redis, hold, { used: 400 }),
      (hold: string) => alterHold(redis, hold, { used: 0 }),
      (hold: string) => alterHold(redis, hold, { mac: 'f'.repeat(64) }),
    ];
    for (const alter of alterations) {
      const event = await reaped(120, alter);
      expect(await charged(event)).toBe(0);
      expect(await letters(event.rid)).toEqual([{ reason: expect.stringContaining('forged') }]);
      expect(await charged(usageEvent(130, { ...parts, rid: event.rid }))).toBe(130);
    }
    const alerts = await ledger.query(
      "SELECT severity FROM alerts WHERE rule = 'redis_tampered' AND subject = 'usage'",
    );
    expect(alerts).toEqual([{ severity: 'critical' }]);
    expect(await ledger.violations()).toEqual({});
  });

  test('that no node signed are set aside: for another request, account or amount, and under another number', async () => {
    const other = await ledger.account('10');
    const real = reapEvent(50, parts);
    const forged = [
      withoutMac(real),
      { ...real, rid: uuidv7(Date.now()) },
      { ...real, delta: '5000' },
      { ...real, seq: '1' },
      {
        ...real,
        payload: real.payload.replace(/"account_id":\d+/, `"account_id":${other.id}`),
      },
    ];
    for (const event of forged) expect(await isBelieved(event)).toBe(false);
    expect(await isBelieved(real)).toBe(true);
  });
});
