import { describe, expect, test } from '@jest/globals';
import { eventually } from '@tollgate/harness';
import { LiveRecords, shardOf } from '@tollgate/keyspace';
import { DataSource } from 'typeorm';
import { CONFIG, type Config } from '../../config.ts';
import { admit, book, parts, periodOf, set, tenant } from '../../testing/budgets-under-test.ts';
import { ledger, plane, worker } from '../../testing/ledger-plane-under-test.ts';
import { usageEvent } from '../../testing/ledger-under-test.ts';
import { LiveRebuildService } from '../live-state/live-rebuild.service.ts';
import { LiveRows } from '../live-state/live-rows.sql.ts';
import { LiveRecordAudit } from '../live-state/live-record-audit.ts';
import { BudgetGuard } from './budget-guard.ts';
import { BudgetCalendar } from './budget-calendar.service.ts';

describe('what Redis counts', () => {
  const refill = () => {
    const config = plane.app.get<Config>(CONFIG);
    const rows = new LiveRows(plane.app.get(DataSource));
    const filler = new LiveRebuildService(rows, plane.app.get(LiveRecords), config);
    return filler.rewriteAll(shardOf(tenant.account.id, config.SHARDS));
  };

  test('is what the ledger has used, when a shard is filled again', async () => {
    const { body } = await set({ period: 'none' });
    await book(700, `${body.id}:0:1000000`);
    await plane.app.get(LiveRecords).budgets.discard(tenant.account.id);
    await refill();
    expect(await plane.app.get(LiveRecords).budgets.read(tenant.account.id)).toEqual([
      { budgetId: body.id, period: 0, used: 700, held: 0 },
    ]);
    expect(await admit()).toMatchObject({ kind: 'admitted', grantedTokens: 300 });
  });

  test('is lowered by usage that it learns of late, and no record looks altered', async () => {
    const { body } = await set({ period: 'none' });
    const late = usageEvent(700, {
      ...(await parts()),
      final: { budgets: `${body.id}:0:1000000` },
    });
    await worker.process([{ ...late, epoch: 'gone' }]);
    expect(await admit()).toMatchObject({ kind: 'admitted', grantedTokens: 300 });
    const uses = [{ accountId: tenant.account.id, keyId: tenant.key.id, keyHash: tenant.key.hash }];
    expect(await plane.app.get(LiveRecordAudit).check(uses)).toEqual([]);
    await plane.app.get(LiveRecords).budgets.discard(tenant.account.id);
    await refill();
    expect(await admit()).toMatchObject({ kind: 'admitted', grantedTokens: 300 });
  });

  test('is raised to what is booked where it has lost some, and never lowered', async () => {
    const { body } = await set({ period: 'day' });
    const start = await periodOf(body.id);
    await book(700, `${body.id}:${start}:1000000`);
    const used = async () =>
      (await plane.app.get(LiveRecords).budgets.read(tenant.account.id)).map((one) => one.used);
    // The usage was booked without Redis: the guard that booking wakes finds the difference.
    await eventually(async () => expect(await used()).toEqual([700]));
    await plane.app.get(LiveRecords).budgets.discard(tenant.account.id);
    await plane.app.get(BudgetGuard).compareAll();
    expect(await used()).toEqual([700]);
    expect(await admit()).toMatchObject({ kind: 'admitted', grantedTokens: 300 });
    await plane.app.get(LiveRecords).budgets.discard(tenant.account.id);
    await plane.app
      .get(LiveRecords)
      .budgets.fill(tenant.account.id, [
        { name: `${body.id}:${start}`, value: '', used: 800, ends: 0 },
      ]);
    await plane.app.get(BudgetGuard).compareAll();
    expect(await used()).toEqual([800]);
    const alerts = await ledger.query("SELECT rule FROM alerts WHERE subject = 'budget:' || $1", [
      body.id,
    ]);
    expect(alerts).toEqual([{ rule: 'drift' }]);
  });

  test('has its periods long before they begin', async () => {
    const { body } = await set({ period: 'day' });
    const starts = async (): Promise<number[]> =>
      (await ledger.query('SELECT starts FROM budgets WHERE id = $1', [body.id]))[0].starts.map(
        Number,
      );
    const before = await starts();
    expect(before.length).toBe(33);
    const calendar = plane.app.get(BudgetCalendar);
    await calendar.continueAll(Date.now() + 10 * 86_400_000);
    expect(await starts()).toEqual(before);
    await plane.app
      .get(LiveRecords)
      .budgets.fill(tenant.account.id, [
        { name: `${body.id}:${before[0]}`, value: '', used: 5, ends: 0 },
      ]);
    await calendar.continueAll(Date.now() + 20 * 86_400_000);
    const after = await starts();
    expect([after[0], after.length]).toEqual([before[20], 33]);
    expect(await plane.app.get(LiveRecords).budgets.read(tenant.account.id)).toEqual([]);
    const uses = [{ accountId: tenant.account.id, keyId: tenant.key.id, keyHash: tenant.key.hash }];
    expect(await plane.app.get(LiveRecordAudit).check(uses)).toEqual([]);
  });
});
