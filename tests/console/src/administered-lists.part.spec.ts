import { expect, test } from '@jest/globals';
import { createCustomer } from '@tollgate/harness';
import { WITHOUT } from './stage.ts';
import {
  button,
  describeInBrowser,
  rowOf,
  stage,
  STORY_MS,
  visitor,
} from './administrator-under-test.ts';

const RANGES = [
  ['Last 15 minutes', 'minute', 15],
  ['Last hour', 'minute', 60],
  ['Last 6 hours', 'minute', 360],
  ['Last 24 hours', 'hour', 24 * 60],
  ['Last 7 days', 'day', 7 * 24 * 60],
  ['Last 30 days', 'day', 30 * 24 * 60],
] as const;
/** Is more than a page of 50. */
const ROWS = 55;

describeInBrowser(`the lists of an administrator${WITHOUT}`, () => {
  test(
    "finds the last row of an account's keys and movements: lists page, search, sort and say the total",
    async () => {
      const { page } = visitor;
      const customer = await createCustomer(stage.tollgate, { amount: '0' });
      for (let row = 1; row <= ROWS; row += 1) {
        await customer.client.createKey({ name: `key-${String(row).padStart(3, '0')}` });
        const note = `paid-${String(row).padStart(3, '0')}`;
        await stage.tollgate.admin.adminRecharge({ userId: customer.id, amount: '1', note });
      }
      for (const { tab, table, row } of [
        { tab: 'keys', table: 'API keys', row: 'key' },
        { tab: 'ledger', table: 'Movements', row: 'paid' },
      ]) {
        await visitor.go(`/admin/users/${customer.id}?tab=${tab}`);
        await rowOf(table, `${row}-055`).waitFor();
        await page.getByText('1–50 of 55').waitFor();
        expect(await rowOf(table, `${row}-001`).count()).toBe(0);
        await button('Next').click();
        await rowOf(table, `${row}-001`).waitFor();
        await page.getByText('51–55 of 55').waitFor();
        await page.getByRole('searchbox').fill(`${row}-003`);
        await page.getByText('1–1 of 1').waitFor();
        await rowOf(table, `${row}-003`).waitFor();
        await visitor.go(`/admin/users/${customer.id}?tab=${tab}&sort=created_at`);
        await rowOf(table, `${row}-001`).waitFor();
      }
    },
    STORY_MS,
  );

  test(
    'a filter stands over what it narrows: outcomes over the list, the range over the chart',
    async () => {
      const { page } = visitor;
      const panel = (title: string) =>
        page
          .locator('section')
          .filter({ has: page.getByRole('heading', { name: title, level: 2 }) });
      await visitor.go('/admin/usage');
      await panel('Requests').getByLabel('Outcome').waitFor();
      expect(await page.getByLabel('Outcome').count()).toBe(1);
      await visitor.go('/admin');
      await panel('Requests by model').getByLabel('Time range').waitFor();
    },
    STORY_MS,
  );

  test(
    'shows 15 minutes to 30 days and any other range, by the minute up to 6 hours',
    async () => {
      const { page } = visitor;
      await visitor.go('/admin/usage?range=90d');
      /** Waits for sums of such intervals and, where it is given, of such a length: pages ask again while one looks. */
      const sums = (interval: string, minutes?: number) =>
        page.waitForResponse(async (answer) => {
          if (!answer.url().includes('/usage/statistics?') || !answer.ok()) return false;
          const { from, to, interval: by } = await answer.json();
          const length = (Date.parse(to) - Date.parse(from)) / 60_000;
          return by === interval && (minutes ?? length) === length;
        });
      const range = page.getByLabel('Time range', { exact: true });
      for (const [label, interval, minutes] of RANGES)
        await Promise.all([sums(interval, minutes), range.selectOption({ label })]);
      await button('Custom range').click();
      await page.locator('input[name=from]').fill('2026-01-01T00:00');
      await page.locator('input[name=to]').fill('2026-01-01T02:00');
      // Minutes and hours of then are not kept any more.
      await Promise.all([sums('day'), button('Apply range').click()]);
      expect(visitor.complaints).toEqual([]);
    },
    STORY_MS,
  );
});
