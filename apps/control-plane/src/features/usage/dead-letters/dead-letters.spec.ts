import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { splitFinal } from '@tollgate/contracts';
import { eventually } from '@tollgate/harness';
import { REDIS } from '../../../platform/redis/redis.module.ts';
import { keysOf } from '../../../testing/drift-under-test.ts';
import { Reconciler } from '../../reconciliation/reconciler.service.ts';
import { uuidv7 } from '../../../platform/http/visitor.ts';
import {
  ledgerOf,
  reapEvent,
  usageEvent,
  withdrawEvent,
  type EventParts,
  subscribedAccount,
} from '../../../testing/ledger-under-test.ts';
import { startControlPlane, type ControlPlane } from '../../../testing/control-plane-under-test.ts';
import { UsageIngest } from '../ingest/usage-ingest.service.ts';

let plane: ControlPlane;
let ledger: ReturnType<typeof ledgerOf>;
let ingest: UsageIngest;
beforeAll(async () => {
  plane = await startControlPlane({ USAGE_RETENTION_DAYS: '30' });
  ledger = ledgerOf(plane);
  ingest = plane.app.get(UsageIngest);
  await ledger.initialiseShards();
}, 60_000);
afterAll(() => plane?.stop());

const subscribed = (): Promise<EventParts> => subscribedAccount(plane, 1_000);
const balanceOf = async ({ subscriptionId }: EventParts): Promise<number> => {
  const [row] = await ledger.query('SELECT balance FROM subscriptions WHERE id = $1', [
    subscriptionId,
  ]);
  return Number(row.balance);
};
/** All credits of the ledger are in Redis. */
const isCredited = async ({ account, model }: EventParts): Promise<void> => {
  const { credit_seq } = await ledger.subscription(account, model);
  expect(await ledger.live(account, model)).toMatchObject({ creditSeq: Number(credit_seq) });
};
const admin = <Method extends string, Path extends string>(
  method: Method,
  path: Path,
  body?: unknown,
) => plane.call(method, path, { token: plane.adminToken, ...(body !== undefined && { body }) });
const letterOf = async (rid: string, status = 'open') =>
  (await admin('GET', `/admin/dead-letters?rid=${rid}&status=${status}`)).body.data[0];
const isAlertOpen = async (): Promise<boolean> =>
  (await admin('GET', '/admin/alerts?rule=dead_letter')).body.total > 0;

/** Makes an event whose charge is not what its price version makes of its counts. */
async function deadLetter(parts: EventParts, more: Partial<EventParts> = {}) {
  const event = usageEvent(70, { ...parts, final: { charge: 60 }, delta: 60, ...more });
  await ingest.ingest([event]);
  return { event, letter: await letterOf(event.rid) };
}

/** Makes a letter that PostgreSQL refused for a reason that is gone. */
async function refusedReap(parts: EventParts) {
  const event = reapEvent(70, parts);
  await ledger.query(
    "INSERT INTO usage_dead_letters (rid, seq, delta, payload, reason) VALUES ($1, $2, $3, $4, 'refused')",
    [event.rid, event.seq, event.delta, event.payload],
  );
  return { event, letter: await letterOf(event.rid) };
}

describe('a dead letter', () => {
  test('is listed with its reason and raises an alert', async () => {
    const { event, letter } = await deadLetter(await subscribed());
    expect(letter).toMatchObject({
      rid: event.rid,
      delta: '60',
      payload: event.payload,
      reason: 'the charge is 70 by its price version, not 60',
      status: 'open',
      resolution: null,
    });
    expect(await isAlertOpen()).toBe(true);
  });

  test('is booked once it is corrected, and charged once, whatever arrives later', async () => {
    const parts = await subscribed();
    const { event, letter } = await deadLetter(parts);
    expect(await admin('POST', `/admin/dead-letters/${letter.id}/book`, {})).toMatchObject({
      status: 409,
      body: {
        code: 'dead_letter_unsound',
        detail: 'the charge is 70 by its price version, not 60',
      },
    });
    expect(await balanceOf(parts)).toBe(1_000);
    const booked = await admin('POST', `/admin/dead-letters/${letter.id}/book`, {
      fields: { charge: 70 },
      note: 'weights were changed by hand',
    });
    expect(booked).toMatchObject({
      status: 200,
      body: { status: 'resolved', resolution: 'booked', note: 'weights were changed by hand' },
    });
    expect(await balanceOf(parts)).toBe(930);
    await ingest.ingest([event, usageEvent(70, { ...parts, rid: event.rid })]);
    expect(await balanceOf(parts)).toBe(930);
    expect(await letterOf(event.rid)).toBeUndefined();
    expect(await admin('POST', `/admin/dead-letters/${letter.id}/book`, {})).toMatchObject({
      status: 409,
      body: { code: 'dead_letter_resolved' },
    });
    expect(
      (await admin('GET', `/activity/logs?target_kind=dead_letter&target_id=${letter.id}`)).body
        .data,
    ).toMatchObject([{ action: 'dead_letter.book' }]);
  });

  test('reaches Redis as a credit of late usage', async () => {
    const parts = await subscribed();
    const { letter } = await deadLetter(parts);
    await admin('POST', `/admin/dead-letters/${letter.id}/book`, { fields: { charge: 70 } });
    expect(
      await ledger.query(
        "SELECT delta::int AS delta FROM token_credits WHERE subscription_id = $1 AND kind = 'late_usage'",
        [parts.subscriptionId],
      ),
    ).toEqual([{ delta: -70 }]);
  });

  test.each([
    ['a final whose tokens Redis took', { kind: 'final', isTaken: true, rounds: 0 }],
    ['a final whose tokens were given back there', { kind: 'final', isTaken: true, rounds: 1 }],
    ['a final that Redis never settled', { kind: 'final', isTaken: false, rounds: 0 }],
    ['a reap whose tokens Redis took', { kind: 'reap', isTaken: true, rounds: 0 }],
    ['a reap whose tokens were given back', { kind: 'reap', isTaken: true, rounds: 1 }],
  ])('is debited once in Redis too: %s', async (_what, { kind, isTaken, rounds }) => {
    const parts = await subscribed();
    const reconciler = plane.app.get(Reconciler, { strict: false });
    const key = keysOf(plane, parts.account.id, parts.model.id);
    if (isTaken) await plane.app.get(REDIS).hincrby(key, 'bal', -70);
    const { letter } = kind === 'final' ? await deadLetter(parts) : await refusedReap(parts);
    const fields = kind === 'final' ? { charge: 70 } : {};
    // A look at used balances may have the lock; then a round ends at once.
    for (let repairs = 0; repairs < rounds;) repairs += await reconciler.runAlone({ pauseMs: 50 });
    expect(await admin('POST', `/admin/dead-letters/${letter.id}/book`, { fields })).toMatchObject({
      status: 200,
      body: { resolution: 'booked' },
    });
    await eventually(() => isCredited(parts));
    expect(await balanceOf(parts)).toBe(930);
    expect(await ledger.live(parts.account, parts.model)).toMatchObject({ balance: 930 });
  });

  test('that twelve book at once is booked by one; the others find it resolved', async () => {
    const parts = await subscribed();
    const { letter } = await deadLetter(parts);
    const answers = await Promise.all(
      Array.from({ length: 12 }, () =>
        admin('POST', `/admin/dead-letters/${letter.id}/book`, { fields: { charge: 70 } }),
      ),
    );
    const said = answers.map(({ status, body }) => `${status} ${body.code ?? body.resolution}`);
    expect(said.toSorted()).toEqual([
      '200 booked',
      ...Array.from({ length: 11 }, () => '409 dead_letter_resolved'),
    ]);
    expect(await letterOf(letter.rid, 'all')).toMatchObject({ resolution: 'booked' });
    expect(await balanceOf(parts)).toBe(930);
  });

  test('is left open while its subscription cannot be compared with Redis', async () => {
    const parts = await subscribed();
    const { letter } = await deadLetter(parts);
    const compare = jest.spyOn(plane.app.get(Reconciler, { strict: false }), 'compare');
    compare.mockResolvedValueOnce(false);
    const book = () =>
      admin('POST', `/admin/dead-letters/${letter.id}/book`, { fields: { charge: 70 } });
    expect(await book()).toMatchObject({ status: 503, body: { code: 'service_unavailable' } });
    expect(await balanceOf(parts)).toBe(1_000);
    expect(await book()).toMatchObject({ status: 200, body: { resolution: 'booked' } });
  });

  test('of a request that was booked in another way is a duplicate', async () => {
    const parts = await subscribed();
    const { event, letter } = await deadLetter(parts);
    await ingest.ingest([usageEvent(70, { ...parts, rid: event.rid })]);
    expect(
      await admin('POST', `/admin/dead-letters/${letter.id}/book`, { fields: { charge: 70 } }),
    ).toMatchObject({ status: 200, body: { resolution: 'duplicate' } });
    expect(await balanceOf(parts)).toBe(930);
  });

  test('that is dismissed is charged nothing; the alert closes with the last one', async () => {
    const parts = await subscribed();
    await deadLetter(parts);
    const open = (await admin('GET', '/admin/dead-letters?page_size=100')).body.data;
    for (const { id } of open) {
      expect(await isAlertOpen()).toBe(true);
      await admin('POST', `/admin/dead-letters/${id}/dismiss`, { note: 'of a test' });
    }
    expect(await isAlertOpen()).toBe(false);
    expect(await balanceOf(parts)).toBe(1_000);
  });

  test.each([0, 5])(
    'of what a request released is debited once in Redis too: %i taken',
    async (taken) => {
      const parts = await subscribed();
      const withdrawalId = await ledger.beginWithdrawal(parts.subscriptionId);
      const rid = uuidv7(Date.now());
      const event = withdrawEvent(5, {
        ...parts,
        ...{ withdrawalId, rid, subscriptionId: 999_999, seq: 2 },
      });
      await ingest.ingest([event]);
      const { id } = await letterOf(event.rid);
      const key = keysOf(plane, parts.account.id, parts.model.id);
      await plane.app.get(REDIS).hincrby(key, 'bal', -taken);
      expect(
        await admin('POST', `/admin/dead-letters/${id}/book`, {
          fields: { subscription_id: parts.subscriptionId },
        }),
      ).toMatchObject({ status: 200, body: { resolution: 'booked' } });
      await eventually(() => isCredited(parts));
      expect(await balanceOf(parts)).toBe(995);
      expect(await ledger.live(parts.account, parts.model)).toMatchObject({ balance: 995 });
    },
  );

  test('of a day that was dropped is booked only when a person says so', async () => {
    const parts = await subscribed();
    const rid = uuidv7(Date.now() - 40 * 86_400_000);
    await ledger.query('UPDATE usage_dropped_days SET before = current_date - 30', []);
    await ingest.ingest([usageEvent(70, { ...parts, rid })]);
    const { id } = await letterOf(rid);
    expect(await admin('POST', `/admin/dead-letters/${id}/book`, {})).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining('may have been charged') },
    });
    expect(await balanceOf(parts)).toBe(1_000);
    expect(
      await admin('POST', `/admin/dead-letters/${id}/book`, { although_day_was_dropped: true }),
    ).toMatchObject({ status: 200, body: { resolution: 'booked' } });
    expect(await balanceOf(parts)).toBe(930);
  });
});

test('of two finals of one request in one batch the earlier one is booked', async () => {
  const parts = await subscribed();
  const first = usageEvent(70, parts);
  await ingest.ingest([first, usageEvent(3, { ...parts, rid: first.rid })]);
  expect(await balanceOf(parts)).toBe(930);
});

describe('a poison event whose number is booked', () => {
  test.each(['before', 'in the same batch', 'behind it in the batch'])(
    'is a duplicate, not a dead letter: %s',
    async (when) => {
      const parts = await subscribed();
      const sound = usageEvent(70, parts);
      // A node that was killed on a full disk knows less than Redis has, under the same number.
      const known = usageEvent(3, { ...parts, rid: sound.rid, delta: 70 });
      const repeated = { ...known, payload: splitFinal(known.payload).payload };
      if (when === 'before') {
        await ingest.ingest([sound]);
        await ingest.ingest([repeated]);
      } else
        await ingest.ingest(when === 'in the same batch' ? [sound, repeated] : [repeated, sound]);
      expect(await balanceOf(parts)).toBe(930);
      expect(await letterOf(sound.rid, 'all')).toBeUndefined();
    },
  );
});
