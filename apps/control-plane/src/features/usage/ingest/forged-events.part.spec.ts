import { beforeAll, describe, expect, test } from '@jest/globals';
import { hashCredential, signFinal, splitFinal, type RelayedEvent } from '@tollgate/contracts';
import { REDIS } from '../../../platform/redis/redis.module.ts';
import { uuidv7 } from '../../../platform/http/visitor.ts';
import {
  ledgerOf,
  reapEvent,
  usageEvent,
  withdrawEvent,
  type EventParts,
} from '../../../testing/ledger-under-test.ts';
import type { ControlPlane } from '../../../testing/control-plane-under-test.ts';
import { sharedControlPlane } from '../../../testing/shared-plane-under-test.ts';
import { UsageWorker } from './usage-worker.ts';

let plane: ControlPlane;
let ledger: ReturnType<typeof ledgerOf>;
let worker: UsageWorker;
let parts: EventParts;
let bought = 0;

beforeAll(async () => {
  plane = await sharedControlPlane();
  ledger = ledgerOf(plane);
  worker = plane.app.get(UsageWorker, { strict: false });
  await ledger.initialiseShards();
  const [account, model] = [await ledger.account('1000'), await ledger.model('1')];
  bought = 1_000_000;
  await plane.call('POST', '/models/subscribe', {
    token: account.token,
    body: { model_id: model.id, tokens: bought },
  });
  parts = { account, model, subscriptionId: (await ledger.subscription(account, model)).id };
}, 60_000);

const balance = async (): Promise<number> =>
  Number((await ledger.subscription(parts.account, parts.model)).balance);
const letters = (rid: string): Promise<{ reason: string }[]> =>
  ledger.query('SELECT reason FROM usage_dead_letters WHERE rid = $1', [rid]);
async function charged(events: RelayedEvent[][]): Promise<number> {
  const before = await balance();
  for (const batch of events) await worker.process(batch);
  return before - (await balance());
}
/** Returns what has been acknowledged to the node so far. */
async function acknowledged(rid: string, node = 'node-a:0'): Promise<unknown[]> {
  const lists: string[] = await plane.app.get(REDIS).lrange(`{ack:${node}}`, 0, -1);
  return lists
    .flatMap((text): { rid: string; seq: number }[] => JSON.parse(text).events)
    .filter((each) => each.rid === rid)
    .map(({ seq }) => seq);
}
const unsigned = (event: RelayedEvent): RelayedEvent => ({
  ...event,
  payload: splitFinal(event.payload).payload,
});
const signedBy = (event: RelayedEvent, credential: string): RelayedEvent => ({
  ...event,
  payload: signFinal(
    { rid: event.rid, payload: splitFinal(event.payload).payload },
    hashCredential(credential),
  ),
});

describe('S53: finals that their node did not write', () => {
  test('are set aside, never booked and never acknowledged', async () => {
    const real = usageEvent(500, parts);
    await ledger.query(
      "INSERT INTO proxy_nodes (name, is_self_registered, last_seen_at) VALUES ('registered', true, now())",
    );
    const forgeries = [
      unsigned(real),
      unsigned(usageEvent(20, { ...parts, final: { node: 'registered:0' } })),
      signedBy(real, 'a credential of the forger'),
      { ...real, payload: real.payload.replace('"charge":500', '"charge":1') },
      { ...usageEvent(7, parts), payload: real.payload },
    ];
    expect(await charged(forgeries.map((event) => [event]))).toBe(0);
    for (const { rid } of forgeries) {
      expect(await letters(rid)).toEqual([{ reason: expect.stringContaining('forged') }]);
      expect(await acknowledged(rid)).toEqual([]);
    }
    expect(await charged([[real]])).toBe(500);
    expect(await acknowledged(real.rid)).toEqual([0]);
    const alerts = await ledger.query(
      "SELECT severity FROM alerts WHERE rule = 'redis_tampered' AND subject = 'usage'",
    );
    expect(alerts).toEqual([{ severity: 'critical' }]);
  });

  test('mint nothing as a correction, whatever number and delta a true final is played again with', async () => {
    const real = usageEvent(300, parts);
    const replayed = { ...real, seq: '1', delta: '-900000' };
    expect(await charged([[replayed], [real], [replayed], [{ ...real, delta: '0' }]])).toBe(300);
    expect(await ledger.violations()).toEqual({});
  });

  test('do not replace a true one: a reap forged before it is corrected to the charge that was signed', async () => {
    for (const batches of [
      (real: RelayedEvent, reap: RelayedEvent) => [[reap], [real]],
      (real: RelayedEvent, reap: RelayedEvent) => [[real, reap]],
      (real: RelayedEvent, reap: RelayedEvent) => [[reap, real]],
      (real: RelayedEvent, reap: RelayedEvent) => [[real], [reap]],
    ]) {
      const rid = uuidv7(Date.now());
      const real = usageEvent(400, { ...parts, rid });
      const reap = reapEvent(0, { ...parts, rid });
      expect(await charged(batches(real, reap))).toBe(400);
    }
    expect(await ledger.violations()).toEqual({});
  });

  test('are not acknowledged through an event of another kind either', async () => {
    const real = usageEvent(10, parts);
    const nonsense = { ...real, payload: JSON.stringify({ kind: 'odd', node: 'node-a:0' }) };
    await worker.process([reapEvent(0, { ...parts, rid: real.rid }), nonsense]);
    expect(await acknowledged(real.rid)).toEqual([]);
  });
});

describe('withdrawals that were never begun (S53a)', () => {
  test('are set aside: under an id of the forger, of another subscription, or in the name of a request', async () => {
    const other = await ledger.account('10');
    await plane.call('POST', '/models/subscribe', {
      token: other.token,
      body: { model_id: parts.model.id, tokens: 100 },
    });
    const { id: otherId } = await ledger.subscription(other, parts.model);
    const ofOther = await ledger.beginWithdrawal(otherId);
    const forged = [
      withdrawEvent(500, parts),
      withdrawEvent(500, { ...parts, rid: uuidv7(Date.now()), seq: 2 }),
      withdrawEvent(500, { ...parts, withdrawalId: ofOther }),
    ];
    expect(await charged([forged])).toBe(0);
    for (const { rid } of forged)
      expect(await letters(rid)).toEqual([{ reason: expect.stringContaining('forged') }]);
    const withdrawalId = await ledger.beginWithdrawal(parts.subscriptionId);
    const inNameOfRequest = withdrawEvent(500, { ...parts, withdrawalId, rid: uuidv7(Date.now()) });
    expect(await charged([[inNameOfRequest]])).toBe(0);
    expect(await letters(inNameOfRequest.rid)).toHaveLength(1);
  });

  test('a real one is booked, once, and so is what a running request releases after it, also after the next withdrawal', async () => {
    const withdrawalId = await ledger.beginWithdrawal(parts.subscriptionId);
    const real = withdrawEvent(300, { ...parts, withdrawalId });
    expect(await charged([[real], [real]])).toBe(300);
    await ledger.beginWithdrawal(parts.subscriptionId);
    const released = withdrawEvent(20, { ...parts, withdrawalId, rid: uuidv7(Date.now()), seq: 2 });
    expect(await charged([[released], [released], [real]])).toBe(20);
    expect(await letters(real.rid)).toEqual([]);
  });
});
