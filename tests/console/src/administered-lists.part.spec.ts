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

/** More than a page of 50. */
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
});
