import { beforeAll, describe, expect, test } from '@jest/globals';
import type { RelayedEvent } from '@tollgate/contracts';
import fc from 'fast-check';
import { uuidv7 } from '../../../platform/http/visitor.ts';
import {
  ledgerOf,
  reapEvent,
  usageEvent,
  type EventParts,
  subscribedAccount,
} from '../../../testing/ledger-under-test.ts';
import type { ControlPlane } from '../../../testing/control-plane-under-test.ts';
import { sharedControlPlane } from '../../../testing/shared-plane-under-test.ts';
import { rebuildTotals } from '../rebuild-totals.sql.ts';
import { RollupKeeper } from '../rollup-keeper.ts';
import { UsageWorker } from './usage-worker.ts';

let plane: ControlPlane;
let ledger: ReturnType<typeof ledgerOf>;
let worker: UsageWorker;
beforeAll(async () => {
  plane = await sharedControlPlane();
  ledger = ledgerOf(plane);
  worker = plane.app.get(UsageWorker);
  await ledger.initialiseShards();
}, 60_000);

const subscribed = (tokens: number): Promise<EventParts> => subscribedAccount(plane, tokens);
const stateOf = async ({ subscriptionId }: EventParts) => {
  const [row] = await ledger.query('SELECT balance, overdraft FROM subscriptions WHERE id = $1', [
    subscriptionId,
  ]);
  return { balance: Number(row.balance), overdraft: Number(row.overdraft) };
};

test('roll-ups equal the raw rows whatever the order, batches and repetitions of the events', async () => {
  const request = fc.record({
    tokens: fc.integer({ min: 0, max: 500 }),
    agoMs: fc.integer({ min: 0, max: 3 * 3_600_000 }),
    isReaped: fc.boolean(),
    reaped: fc.integer({ min: 0, max: 500 }),
    isCorrected: fc.boolean(),
    outcome: fc.constantFrom(
      'completed' as const,
      'client_closed' as const,
      'upstream_failed' as const,
      'node_lost' as const,
    ),
    upstream: fc.constantFrom(1, 2, null),
    durationMs: fc.integer({ min: 0, max: 400_000 }),
    keyId: fc.integer({ min: 1, max: 3 }),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(request, { minLength: 1, maxLength: 25 }),
      fc.infiniteStream(fc.nat({ max: 1_000 })),
      async (requests, random) => {
        const parts = await subscribed(5_000);
        const events = requests.flatMap((one): RelayedEvent[] => {
          const rid = uuidv7(Date.now() - one.agoMs);
          const final = {
            outcome: one.outcome,
            upstream_id: one.upstream,
            duration_ms: one.durationMs,
          };
          const common = { ...parts, rid, keyId: one.keyId };
          if (!one.isReaped) return [usageEvent(one.tokens, { ...common, final })];
          const reap = reapEvent(one.reaped, common);
          return one.isCorrected
            ? [
                reap,
                usageEvent(one.tokens, {
                  ...common,
                  seq: 1,
                  delta: one.tokens - one.reaped,
                  final,
                }),
              ]
            : [reap];
        });
        const next = () => random.next().value as number;
        const shuffled = [...events, ...events.slice(0, 5)]
          .map((event) => ({ event, at: next() }))
          .toSorted((a, b) => a.at - b.at)
          .map(({ event }) => event);
        const batches = [
          shuffled.slice(0, shuffled.length / 3),
          shuffled.slice(shuffled.length / 3, shuffled.length / 2),
          shuffled.slice(shuffled.length / 2),
        ];
        await Promise.all(batches.map((batch) => worker.process(batch)));
        await expectRollupsToEqualRawRows(parts);
        const used = events.reduce((sum, event) => sum + Number(event.delta), 0);
        const state = await stateOf(parts);
        expect(state.balance - state.overdraft).toBe(5_000 - used);
      },
    ),
    { numRuns: 25 },
  );
  expect(await ledger.violations()).toEqual({});
}, 120_000);

describe('totals over all accounts', () => {
  test('are kept while several workers add to the same hour, in whatever order their batches name the models', async () => {
    const [one, other] = [await subscribed(100_000), await subscribed(100_000)];
    const batches = Array.from({ length: 12 }, (_, turn) =>
      Array.from({ length: 10 }, (__, index) =>
        usageEvent(1, (turn + index) % 2 === 0 ? one : other),
      ),
    );
    await Promise.all(batches.map((batch) => worker.process(batch)));
    const totals = await ledger.query(
      'SELECT model_id, sum(requests)::int AS requests, sum(charge)::int AS charge, sum(duration_histogram[8])::int AS timed FROM usage_totals_daily WHERE model_id = ANY($1) GROUP BY 1 ORDER BY 1',
      [[one.model.id, other.model.id]],
    );
    expect(totals).toEqual(
      [one, other].map(({ model }) => ({
        model_id: model.id,
        requests: 60,
        charge: 60,
        timed: 60,
      })),
    );
    expect(await ledger.violations()).toEqual({});
  });

  test('that differ from the roll-ups are rebuilt while usage goes on', async () => {
    const parts = await subscribed(1_000);
    await worker.process([usageEvent(5, parts), reapEvent(7, parts)]);
    await ledger.query(
      'UPDATE usage_totals SET requests = requests - 1, duration_histogram[9] = duration_histogram[9] + 1; DELETE FROM usage_totals_daily',
    );
    expect(Object.keys(await ledger.violations())).toEqual([
      'totals are not the sums of what they sum',
      'daily_totals are not the sums of what they sum',
    ]);
    await Promise.all([
      rebuildTotals(plane.dataSource),
      ...Array.from({ length: 8 }, () => worker.process([usageEvent(3, parts)])),
    ]);
    expect(await ledger.violations()).toEqual({});
  });
});

/** Expects one row a request: the correction's own figures where there is one, else the reap's. */
async function expectRollupsToEqualRawRows({ account, model }: EventParts): Promise<void> {
  const raw = await ledger.query(
    `WITH requests AS (
       SELECT DISTINCT ON (rid) rid, date_trunc('hour', started_at) AS hour, key_id, coalesce(upstream_id, 0) AS upstream_id,
         CASE WHEN kind = 'reap' THEN delta ELSE charge END AS charge, coalesce(input_tokens, 0) AS input, duration_ms,
         (outcome IN ('upstream_failed', 'upstream_interrupted', 'node_lost') OR coalesce(status, 0) >= 400)::int AS error
       FROM usage_events WHERE user_id = $1 AND kind <> 'withdraw' ORDER BY rid, seq DESC)
     SELECT hour, key_id, upstream_id, count(*)::int AS requests, sum(error)::int AS errors, sum(charge)::int AS charge, sum(input)::int AS input, count(duration_ms)::int AS timed
     FROM requests GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`,
    [account.id],
  );
  const rollups = await ledger.query(
    `SELECT hour, key_id, upstream_id, requests::int, errors::int, charge::int, coalesce(input_tokens, 0)::int AS input, coalesce((SELECT sum(n) FROM unnest(duration_histogram) AS n), 0)::int AS timed
     FROM usage_rollups WHERE user_id = $1 AND (requests <> 0 OR charge <> 0) ORDER BY 1, 2, 3`,
    [account.id],
  );
  expect(rollups).toEqual(raw);
  const totals = await ledger.query(
    'SELECT hour, upstream_id, requests::int, errors::int, charge::int, coalesce(input_tokens, 0)::int AS input FROM usage_totals WHERE model_id = $1 AND (requests <> 0 OR charge <> 0) ORDER BY 1, 2',
    [model.id],
  );
  const overKeys = Map.groupBy(
    raw as { hour: Date; upstream_id: number }[],
    (row) => `${row.hour.toISOString()} ${row.upstream_id}`,
  );
  expect(
    totals.map(
      (row: { hour: Date; upstream_id: number }) => `${row.hour.toISOString()} ${row.upstream_id}`,
    ),
  ).toEqual([...overKeys.keys()].toSorted(byHourAndUpstream));
  expect(sumOf(totals)).toEqual(sumOf(raw));
}

function byHourAndUpstream(a: string, b: string): number {
  return a < b ? -1 : 1;
}

function sumOf(rows: readonly Record<string, number>[]): Record<string, number> {
  return Object.fromEntries(
    ['requests', 'errors', 'charge', 'input'].map((name) => [
      name,
      rows.reduce((sum, row) => sum + (row[name] ?? 0), 0),
    ]),
  );
}

describe('sums by minute and hour', () => {
  const countsOf = async (userId: number) =>
    (
      await ledger.query(
        `SELECT (SELECT sum(requests)::int FROM usage_rollups_minute WHERE user_id = $1) AS minutes, (SELECT sum(requests)::int FROM usage_rollups WHERE user_id = $1) AS hours,
           (SELECT sum(requests)::int FROM usage_rollups_daily WHERE user_id = $1) AS days`,
        [userId],
      )
    )[0];

  test('are deleted after 48 hours and 90 days, days are not, and the books still close', async () => {
    const parts = await subscribed(1_000);
    const ago = (hours: number) =>
      usageEvent(1, { ...parts, rid: uuidv7(Date.now() - hours * 3_600_000) });
    await worker.process([ago(0), ago(40), ago(50), ago(91 * 24 + 1)]);
    expect(await countsOf(parts.account.id)).toEqual({ minutes: 4, hours: 4, days: 4 });
    const keeper = plane.app.get(RollupKeeper);
    await Promise.all([keeper.look(), keeper.look()]);
    expect(await countsOf(parts.account.id)).toEqual({ minutes: 2, hours: 3, days: 4 });
    expect(await ledger.violations()).toEqual({});
    await ledger.query('UPDATE usage_rollups_minute SET charge = charge + 1 WHERE user_id = $1', [
      parts.account.id,
    ]);
    expect(Object.keys(await ledger.violations())).toEqual([
      'hourly_rollups are not the sums of what they sum',
      'minute_totals are not the sums of what they sum',
    ]);
    await ledger.query('UPDATE usage_rollups_minute SET charge = charge - 1 WHERE user_id = $1', [
      parts.account.id,
    ]);
  });

  test('take at most 200 bytes a row in the mean, though latencies of a row spread', async () => {
    const parts = await subscribed(10_000_000);
    // Prompts with a cache, answers of 0.3 to 20 s: each minute has three of them, each hour 180.
    const events = Array.from({ length: 3 * 60 * 6 }, (_, index) =>
      usageEvent(6_700, {
        ...parts,
        rid: uuidv7(Date.now() - index * 20_000),
        final: {
          input_tokens: 4_000,
          cache_read_tokens: 2_000,
          output_tokens: 700,
          duration_ms: 300 + ((index * 7_919) % 19_700),
          first_token_ms: 150 + ((index * 104_729) % 1_500),
        },
      }),
    );
    for (let at = 0; at < events.length; at += 100)
      await worker.process(events.slice(at, at + 100));
    const tables = ['usage_rollups_minute', 'usage_rollups', 'usage_rollups_daily'];
    const [sizes] = await ledger.query(
      `SELECT avg(size)::float AS mean, count(*)::int AS rows FROM (${tables
        .map((table) => `SELECT pg_column_size(r.*) AS size FROM ${table} r WHERE user_id = $1`)
        .join(' UNION ALL ')}) sizes`,
      [parts.account.id],
    );
    expect(sizes.rows).toBeGreaterThan(360);
    expect(sizes.mean).toBeLessThanOrEqual(200);
  });
});
