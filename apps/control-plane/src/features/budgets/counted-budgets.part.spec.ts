import { describe, expect, test } from '@jest/globals';
import { parseApiKey } from '@tollgate/contracts';
import { LiveRecords } from '@tollgate/keyspace';
import {
  admit,
  as,
  book,
  ofAccount,
  parts,
  periodOf,
  set,
  tenant,
  usageOf,
} from '../../testing/budgets-under-test.ts';
import { ledger, plane, worker } from '../../testing/ledger-plane-under-test.ts';
import { reapEvent, usageEvent } from '../../testing/ledger-under-test.ts';
import { EQUALITIES } from '../books/equalities.ts';
import { BudgetGuard } from './budget-guard.ts';
import { BudgetCalendar } from './budget-calendar.service.ts';

describe('a budget', () => {
  test('holds from the next request on, and its end names when it starts again', async () => {
    const { status, body } = await set();
    expect([status, body]).toMatchObject([
      201,
      {
        key_id: tenant.key.id,
        user_id: tenant.account.id,
        amount: '1000',
        is_of_administrator: false,
      },
    ]);
    const first = await admit();
    expect(first).toMatchObject({ kind: 'admitted', grantedTokens: 600 });
    expect(await admit()).toMatchObject({ kind: 'admitted', grantedTokens: 400 });
    expect(await admit()).toMatchObject({ kind: 'tokens_held', balance: 1_000, held: 1_000 });
    await as('PUT', `/budgets/${body.id}`, { amount: 0 });
    const refused = await admit();
    expect(refused).toMatchObject({ kind: 'budget_exceeded', budgetId: body.id, limit: 0 });
    const { resets_at: resetsAt, live } = await usageOf(body.id);
    expect(refused.kind === 'budget_exceeded' && refused.endsAtMs).toBe(Date.parse(resetsAt));
    expect(new Date(resetsAt).toISOString()).toMatch(/T15:00:00\.000Z$/);
    expect(live).toEqual({ used: '0', held: '1000' });
    await as('DELETE', `/budgets/${body.id}`);
    expect(await admit()).toMatchObject({ kind: 'admitted', claims: '' });
  });

  test('counts booked usage in the period that the final names, once, corrections included', async () => {
    const { body: money } = await set({ unit: 'money', amount: '0.5', period: 'none' });
    const { body: requests } = await ofAccount({ unit: 'requests', amount: 7, period: 'day' });
    expect(money.amount).toBe('0.5');
    const day = await periodOf(requests.id);
    const claims = `${money.id}:0:2000000,${requests.id}:${day}:0,${requests.id}:${day - 86_400}:0`;
    const of = await parts();
    const withClaims = { ...of, final: { budgets: claims } };
    const reap = reapEvent(40, withClaims);
    const { rid } = reap;
    const events = [reap, usageEvent(11, withClaims)];
    await worker.process(events);
    await worker.process(events);
    expect(await usageOf(money.id)).toMatchObject({ used: '0.000102', limit: '0.5' });
    expect(await usageOf(requests.id)).toMatchObject({ used: '2', limit: '7' });
    await worker.process([usageEvent(15, { ...withClaims, rid })]);
    expect(await usageOf(money.id)).toMatchObject({ used: '0.000052', granted: '0' });
    expect(await usageOf(requests.id)).toMatchObject({ used: '2' });
    const rows = await ledger.query(
      'SELECT started_at::int AS start, used::int FROM budget_periods WHERE budget_id = $1 ORDER BY 1',
      [requests.id],
    );
    expect(rows).toEqual([
      { start: day - 86_400, used: 2 },
      { start: day, used: 2 },
    ]);
  });

  test('of another account is not counted, whatever a final names', async () => {
    const { body } = await set({ period: 'none' });
    tenant.account = await ledger.account('10');
    await as('POST', '/models/subscribe', { model_id: tenant.model.id, tokens: 100_000 });
    await book(30, `${body.id}:0:1000000`);
    const rows = await ledger.query('SELECT used FROM budget_periods WHERE budget_id = $1', [
      body.id,
    ]);
    expect(rows).toEqual([]);
  });

  test('is granted more and started again, each by a line with author and reason', async () => {
    const { body } = await set();
    const start = await periodOf(body.id);
    await book(900, `${body.id}:${start}:1000000`);
    await plane.app.get(BudgetGuard).compareAll();
    expect(await admit()).toMatchObject({ kind: 'admitted', grantedTokens: 100 });
    expect(
      await as('POST', `/budgets/${body.id}/grant`, { amount: 500, reason: 'launch' }),
    ).toMatchObject({ status: 200, body: { amount: '1000' } });
    expect(await admit()).toMatchObject({ kind: 'admitted', grantedTokens: 500 });
    expect(await usageOf(body.id)).toMatchObject({ limit: '1500', granted: '500', used: '900' });
    await as('POST', `/budgets/${body.id}/reset`, { reason: 'start again' });
    expect(await usageOf(body.id)).toMatchObject({ limit: '1000', granted: '0', used: '0' });
    expect(await admit()).toMatchObject({ kind: 'admitted', grantedTokens: 600 });
    const { data } = (await as('GET', `/budgets/${body.id}/entries`)).body;
    expect(data).toMatchObject([
      { kind: 'reset', amount: '900', reason: 'start again', author_id: tenant.account.id },
      { kind: 'grant', amount: '500', reason: 'launch', author_id: tenant.account.id },
    ]);
    await expect(ledger.query('DELETE FROM budget_entries')).rejects.toThrow();
  });

  test('follows its key through rotations', async () => {
    const { body } = await set({ period: 'none', amount: 650 });
    await admit();
    const { body: rotated } = await as('POST', `/keys/${tenant.key.id}/rotate`);
    tenant.key = { id: rotated.id, hash: parseApiKey(rotated.key ?? '')?.hash ?? '' };
    expect(await admit()).toMatchObject({ kind: 'admitted', grantedTokens: 50 });
    expect((await as('GET', `/budgets?key_id=${tenant.key.id}`)).body.data).toMatchObject([
      { id: body.id },
    ]);
    const { status, body: second } = await set({ unit: 'requests', amount: 0 });
    expect([status, second.key_id]).toEqual([201, body.key_id]);
    expect(await admit()).toMatchObject({ kind: 'budget_exceeded', budgetId: second.id });
  });

  test('alerts once for each percentage of a period', async () => {
    const { body } = await set({ period: 'none', notify_at: [100, 50] });
    const alerts = () =>
      ledger.query(
        "SELECT rule, subject, resolved_at IS NULL AS is_open FROM alerts WHERE subject LIKE 'budget:' || $1 || ':%' ORDER BY id",
        [body.id],
      );
    await book(400, `${body.id}:0:1000000`);
    expect(await alerts()).toEqual([]);
    await book(200, `${body.id}:0:1000000`);
    await book(200, `${body.id}:0:1000000`);
    const half = { rule: 'budget_threshold', subject: `budget:${body.id}:50:0`, is_open: true };
    expect(await alerts()).toEqual([half]);
    await book(300, `${body.id}:0:1000000`);
    const whole = { rule: 'budget_exhausted', subject: `budget:${body.id}:100:0`, is_open: true };
    expect(await alerts()).toEqual([half, whole]);
    await as('POST', `/budgets/${body.id}/grant`, { amount: 10_000, reason: 'more' });
    await plane.app.get(BudgetCalendar).continueAll(Date.now());
    expect((await alerts()).map(({ is_open: isOpen }: { is_open: boolean }) => isOpen)).toEqual([
      false,
      false,
    ]);
  });
});

describe('a budget of tokens as reported', () => {
  test('counts what finals report, and of a reap what could be held for its charge', async () => {
    const { body } = await set({ unit: 'tokens', period: 'none' });
    const reply = await admit({ plainTokens: { rate: 200_000, base: 40 } });
    const claims = `${body.id}:0:200000+40`;
    expect(reply).toMatchObject({ kind: 'admitted', grantedTokens: 600, claims });
    const counts = { input_tokens: 12, output_tokens: 5, reasoning_tokens: 3, searches: 2 };
    const withClaims = { ...(await parts()), final: { budgets: claims } };
    await worker.process([
      usageEvent(17, { ...withClaims, final: { budgets: claims, ...counts } }),
    ]);
    expect(await usageOf(body.id)).toMatchObject({ used: '17' });
    const reap = reapEvent(41, withClaims);
    await worker.process([reap]);
    expect(await usageOf(body.id)).toMatchObject({ used: '66' });
    await worker.process([usageEvent(20, { ...withClaims, rid: reap.rid })]);
    expect(await usageOf(body.id)).toMatchObject({ used: '37' });
    expect(await ledger.query(EQUALITIES.budgets.sql)).toEqual([]);
    await ledger.query('UPDATE budget_periods SET used = used + 1 WHERE budget_id = $1', [body.id]);
    expect(await ledger.query(EQUALITIES.budgets.sql)).toEqual([
      { budget_id: body.id, started_at: '0' },
    ]);
    await ledger.query('UPDATE budget_periods SET used = used - 1 WHERE budget_id = $1', [body.id]);
  });
});

describe('a rolling budget', () => {
  const MINUTES = 600;
  const bucketNow = (): number => Math.floor(Date.now() / 1_000 / MINUTES) * MINUTES;
  const rolling = { period: 'rolling', window_minutes: MINUTES };

  test('sums what was booked in its window, and lets Redis count it from there', async () => {
    const { status, body } = await set({ ...rolling, notify_at: [50, 90] });
    expect([status, body]).toMatchObject([201, { period: 'rolling', window_minutes: MINUTES }]);
    const bucket = bucketNow();
    const claim = (start: number): string => `${body.id}:${start}:1000000`;
    await book(300, claim(bucket - 59 * MINUTES));
    await book(400, claim(bucket - 60 * MINUTES));
    await book(350, claim(bucket - 2 * MINUTES));
    const usage = await usageOf(body.id);
    expect(usage).toMatchObject({ used: '650', limit: '1000' });
    expect(Date.parse(usage.resets_at) / 1_000).toBe(bucket + MINUTES);
    expect(Date.parse(usage.period_began_at) / 1_000).toBe(bucket - 59 * MINUTES);
    await plane.app.get(BudgetGuard).compareAll();
    expect(await admit()).toMatchObject({ kind: 'admitted', grantedTokens: 350 });
    expect(await usageOf(body.id)).toMatchObject({ live: { used: '650', held: '350' } });
    const alerts = await ledger.query(
      "SELECT rule, subject FROM alerts WHERE subject LIKE 'budget:' || $1 || ':%'",
      [body.id],
    );
    expect(alerts).toEqual([{ rule: 'budget_threshold', subject: `budget:${body.id}:50` }]);
  });

  test('is granted more while the bucket counts, and started again within it', async () => {
    const { body } = await set(rolling);
    await book(900, `${body.id}:${bucketNow()}:1000000`);
    await plane.app.get(BudgetGuard).compareAll();
    await as('POST', `/budgets/${body.id}/grant`, { amount: 150, reason: 'launch' });
    expect(await admit()).toMatchObject({ kind: 'admitted', grantedTokens: 250 });
    expect(await usageOf(body.id)).toMatchObject({ limit: '1150', used: '900', granted: '150' });
    await as('POST', `/budgets/${body.id}/reset`, { reason: 'start again' });
    expect(await usageOf(body.id)).toMatchObject({ limit: '1000', used: '0', resets_at: null });
    const after = await admit();
    expect(after).toMatchObject({ kind: 'admitted', grantedTokens: 600 });
    const { data } = (await as('GET', `/budgets/${body.id}/entries`)).body;
    expect(data[0]).toMatchObject({ kind: 'reset', amount: '900' });
  });

  test('forgets buckets days after they have left the window, but for those with a grant', async () => {
    const { body } = await set(rolling);
    const old = bucketNow() - 60 * MINUTES - 4 * 86_400;
    for (const start of [old, old + MINUTES, bucketNow()])
      await book(5, `${body.id}:${start}:1000000`);
    await ledger.query(
      'UPDATE budget_periods SET granted = 1 WHERE budget_id = $1 AND started_at = $2',
      [body.id, old],
    );
    await plane.app.get(BudgetGuard).compareAll();
    const redis = plane.app.get(LiveRecords).budgets;
    await redis.fill(tenant.account.id, [
      { name: `${body.id}:${old}`, value: '', used: 5, ends: 0 },
    ]);
    await plane.app.get(BudgetCalendar).continueAll(Date.now());
    const rows = await ledger.query(
      'SELECT started_at::int AS start FROM budget_periods WHERE budget_id = $1 ORDER BY 1',
      [body.id],
    );
    expect(rows).toEqual([{ start: old }, { start: bucketNow() }]);
    expect((await redis.read(tenant.account.id)).map(({ period }) => period)).toEqual([
      bucketNow(),
    ]);
    expect(await ledger.query(EQUALITIES.budgets.sql)).toEqual([]);
    await ledger.query('UPDATE budget_periods SET granted = 0 WHERE budget_id = $1', [body.id]);
  });

  test.each([
    [{ period: 'rolling' }, 'window_minutes'],
    [{ period: 'rolling', window_minutes: 4 }, 'window_minutes'],
    [{ period: 'rolling', window_minutes: 129_601 }, 'window_minutes'],
    [{ period: 'day', window_minutes: 60 }, 'window_minutes'],
  ])('is refused as %j', async (fields, field) => {
    const { status, body } = await set(fields);
    expect([status, body]).toMatchObject([400, { errors: [{ field }] }]);
  });
});

test('the audit finds no fault in what is used and granted, and any that is planted', async () => {
  const broken = async (): Promise<number[]> => {
    const { budgets, budget_grants: grants } = EQUALITIES;
    const found = await Promise.all([ledger.query(budgets.sql), ledger.query(grants.sql)]);
    return found.map(({ length }: { length: number }) => length);
  };
  const { body } = await set({ period: 'day', unit: 'money', amount: '7' });
  const start = await periodOf(body.id);
  await book(901, `${body.id}:${start}:1500001`);
  await as('POST', `/budgets/${body.id}/grant`, { amount: '0.5', reason: 'x' });
  expect(await broken()).toEqual([0, 0]);
  for (const [column, found] of [
    ['used', [1, 0]],
    ['granted', [0, 1]],
  ] as const) {
    const add = (units: number) =>
      ledger.query(`UPDATE budget_periods SET ${column} = ${column} + $2 WHERE budget_id = $1`, [
        body.id,
        units,
      ]);
    await add(1);
    expect(await broken()).toEqual(found);
    await add(-1);
  }
});
