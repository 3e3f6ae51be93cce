import { describe, expect, test } from '@jest/globals';
import { eventually } from '@tollgate/harness';
import { LiveRecords, scopeValue, shardOf } from '@tollgate/keyspace';
import { DataSource } from 'typeorm';
import { CONFIG, type Config } from '../../config.ts';
import {
  admit,
  as,
  book,
  periodOf,
  set,
  tenant,
  usageOf,
} from '../../testing/budgets-under-test.ts';
import { ledger, plane } from '../../testing/ledger-plane-under-test.ts';
import { EQUALITIES } from '../books/equalities.ts';
import { LiveRebuildService } from '../live-state/live-rebuild.service.ts';
import { LiveRows } from '../live-state/live-rows.sql.ts';
import { BudgetCalendar } from './budget-calendar.service.ts';

const ofSessions = (fields: object = {}) =>
  set({ scope: { sessions_of: { key_id: tenant.key.id } }, period: 'day', ...fields });
const session = (name: string): string => scopeValue(tenant.account.id, 'session', name);
const admitOf = (name: string) => admit({ scopes: { session: name } });
const live = () => plane.app.get(LiveRecords).budgets;

describe('a budget of each session', () => {
  test('gives each the whole amount, books each by itself and shows the one that used most', async () => {
    const { status, body } = await ofSessions();
    expect([status, body]).toMatchObject([201, { each: 'session', require: false }]);
    const start = await periodOf(body.id);
    const claims = `${body.id}:${start}:1000000:${session('loop')}`;
    expect(await admitOf('loop')).toMatchObject({ grantedTokens: 600, claims });
    expect(await admitOf('loop')).toMatchObject({ grantedTokens: 400 });
    expect(await admitOf('calm')).toMatchObject({ grantedTokens: 600 });
    await book(900, claims);
    await book(20, `${body.id}:${start}:1000000:${session('calm')}`);
    expect(await usageOf(body.id)).toMatchObject({ used: '900', values: 2, live: null });
    const granted = await as('POST', `/budgets/${body.id}/grant`, { amount: 50, reason: 'x' });
    expect(granted.status).toBe(200);
    expect(await usageOf(body.id)).toMatchObject({ limit: '1050', used: '900' });
    const { budgets, budget_grants: grants } = EQUALITIES;
    const broken = async () => [
      (await ledger.query(budgets.sql)).length,
      (await ledger.query(grants.sql)).length,
    ];
    expect(await broken()).toEqual([0, 0]);
    // The use of one session does not make up for that of another.
    const moveUsed = (units: number) =>
      ledger.query(
        'UPDATE budget_periods SET used = used + CASE value WHEN $2 THEN $3::int ELSE -$3::int END WHERE budget_id = $1 AND used > 0',
        [body.id, session('loop'), units],
      );
    await moveUsed(1);
    expect(await broken()).toEqual([2, 0]);
    await moveUsed(-1);
  });

  test('is counted from the books where Redis lost it, and raised where it counts less', async () => {
    const { body } = await ofSessions();
    const start = await periodOf(body.id);
    const { id } = tenant.account;
    await book(700, `${body.id}:${start}:1000000:${session('loop')}`);
    const used = async () => (await live().read(id, session('loop'))).map((one) => one.used);
    await eventually(async () => expect(await used()).toEqual([700]));
    await live().discard(id);
    const config = plane.app.get<Config>(CONFIG);
    const rows = new LiveRows(plane.app.get(DataSource));
    const filler = new LiveRebuildService(rows, plane.app.get(LiveRecords), config);
    await filler.rewriteAll(shardOf(id, config.SHARDS));
    expect(await used()).toEqual([700]);
    expect(await admitOf('loop')).toMatchObject({ grantedTokens: 300 });
    expect(await admitOf('calm')).toMatchObject({ grantedTokens: 600 });
  });

  test('refuses a request without one where it must be named', async () => {
    const scope = { end_users_of: { user_id: tenant.account.id } };
    const { body } = await set({ scope, period: 'week', require: true });
    expect(await admit()).toEqual({
      ...{ kind: 'value_required', budgetId: body.id, scope: 'end_user' },
    });
    expect(await admit({ scopes: { end_user: 'ann' } })).toMatchObject({ kind: 'admitted' });
  });

  test('alerts while more of them are met than are counted apart, until the period is over', async () => {
    const { body } = await ofSessions({ notify_at: [] });
    await book(5, `${body.id}:${await periodOf(body.id)}:1000000:s+`);
    const open = async () => {
      const rows = await ledger.query(
        "SELECT resolved_at IS NULL AS is_open FROM alerts WHERE rule = 'budget_shared' AND subject LIKE 'budget:' || $1 || ':%'",
        [body.id],
      );
      return rows.map(({ is_open: isOpen }: { is_open: boolean }) => isOpen);
    };
    expect(await open()).toEqual([true]);
    await plane.app.get(BudgetCalendar).continueAll(Date.now());
    expect(await open()).toEqual([true]);
    await as('POST', `/budgets/${body.id}/reset`, { reason: 'x' });
    await plane.app.get(BudgetCalendar).continueAll(Date.now());
    expect(await open()).toEqual([false]);
  });

  test('is forgotten in PostgreSQL once its period is long over', async () => {
    const { body } = await ofSessions();
    const start = await periodOf(body.id);
    const old = start - 100 * 86_400;
    await book(5, `${body.id}:${start}:1000000:s-`);
    await ledger.query(
      "INSERT INTO budget_periods (budget_id, started_at, value, used) VALUES ($1, $2, 's-', 0), ($1, $2, '', 0)",
      [body.id, old],
    );
    await plane.app.get(BudgetCalendar).continueAll(Date.now());
    const rows = await ledger.query(
      'SELECT started_at::int AS start, value FROM budget_periods WHERE budget_id = $1 ORDER BY 1',
      [body.id],
    );
    expect(rows).toEqual([
      { start: old, value: '' },
      { start, value: 's-' },
    ]);
  });
});

test.each<[string, { scope?: string; period?: string; require?: boolean }, string]>([
  ['a total of each session', { scope: 'sessions', period: 'none' }, 'period'],
  ['a year of each end user', { scope: 'end_users', period: 'year' }, 'period'],
  ['a name that must be given for nothing', { require: true }, 'require'],
])('%s is refused by the name of its field', async (_name, { scope, ...fields }, field) => {
  const owner = { key_id: tenant.key.id };
  const named = scope === undefined ? {} : { scope: { [`${scope}_of`]: owner } };
  expect(await set({ ...fields, ...named })).toMatchObject({
    status: 400,
    body: { code: 'invalid_request', errors: [{ field }] },
  });
});
