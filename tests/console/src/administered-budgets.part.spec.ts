import { expect, test } from '@jest/globals';
import { createCustomer, createRoutedModel } from '@tollgate/harness';
import { overflowOf, violationsOn, WITHOUT } from './stage.ts';
import {
  describeInBrowser,
  dialog,
  inDialog,
  stage,
  STORY_MS,
  visitor,
} from './administrator-under-test.ts';

/** Computes by how many pixels the content of a dialog, or of a part that scrolls by itself, is wider than its place. */
const FORM_OVERFLOW = `Math.max(...[...document.querySelectorAll('[role=dialog]:not([data-type]), [role=dialog]:not([data-type]) *')]
  .filter((one) => one.matches('[role=dialog]') || ['auto', 'scroll'].includes(getComputedStyle(one).overflowX))
  .map((one) => one.scrollWidth - one.clientWidth))`;

/** Makes the budgets of a key, with a customer who has tokens of a model and the key. */
async function budgetedKey(name = 'budgeted') {
  const model = await createRoutedModel(stage.tollgate, { name });
  await stage.tollgate.admin.syncAll();
  const customer = await createCustomer(stage.tollgate);
  await customer.client.subscribe({ model_id: model.id, tokens: 1_000_000 });
  const created = await customer.client.createKey({ name, allowed_models: '*' });
  const [key] = await customer.client.list(`/keys?q=${name}`);
  const ask = async (): Promise<number> => {
    const answer = await fetch(`${stage.address}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${created.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: name, messages: [{ role: 'user', content: 'Hi' }] }),
    });
    await answer.text();
    return answer.status;
  };
  return { customer, keyId: Number(key?.id), ask };
}

describeInBrowser(`a budget in the console${WITHOUT}`, () => {
  test(
    'is set, shows what is used of it, is granted more, started again and removed, and its account cannot change it',
    async () => {
      const { page } = visitor;
      const { customer, keyId, ask } = await budgetedKey();
      const choose = async (act: string): Promise<void> => {
        const table = page.getByRole('table', { name: 'Budgets' });
        await table.getByRole('button', { name: 'More actions' }).click();
        await page.getByRole('menuitem', { name: act }).click();
      };
      const row = page.getByRole('table', { name: 'Budgets' }).getByRole('row').nth(1);

      await visitor.go(`/admin/keys/${keyId}`);
      await page.getByRole('button', { name: 'Set a budget' }).first().click();
      await dialog().getByLabel('Counts').selectOption({ label: 'Requests' });
      await dialog().getByLabel('Period').selectOption({ label: 'A rolling window' });
      expect(await dialog().getByLabel('Minutes of the window').inputValue()).toBe('300');
      await dialog().getByLabel('Amount').fill('5');
      await dialog().getByRole('button', { name: 'Compare with yesterday' }).click();
      await dialog().getByText('No request came yesterday.').waitFor();
      await dialog().getByLabel('Period').selectOption({ label: 'A day' });
      await dialog().getByLabel('Time zone').fill('Mars/Olympus');
      await dialog().getByLabel('Amount').fill('1');
      await dialog().getByLabel('Alerts at').fill('50, 100');
      await inDialog('Set a budget').click();
      await dialog().getByText('is no time zone of the IANA database').waitFor();
      await dialog().getByLabel('Time zone').fill('Asia/Tokyo');
      await inDialog('Set a budget').click();
      await row.getByText('0 requests of 1 request').waitFor();
      const [budget] = await stage.tollgate.admin.list(`/budgets?key_id=${keyId}`);
      expect(budget).toMatchObject({
        ...{ unit: 'requests', amount: '1', period: 'day', time_zone: 'Asia/Tokyo' },
        ...{ action: 'refuse', notify_at: [50, 100], is_of_administrator: true },
      });

      expect([await ask(), await ask()]).toEqual([200, 429]);
      await page.reload();
      await row.getByText('1 request of 1 request').waitFor();
      await choose('Grant more');
      await dialog().getByLabel('Amount').fill('2');
      await dialog().getByLabel('Reason').fill('release week');
      await inDialog('Grant more').click();
      await row.getByText('1 request of 3 requests').waitFor();
      expect(await ask()).toBe(200);
      await choose('Start again');
      await dialog().getByLabel('Reason').fill('a test used it up');
      await inDialog('Start again').click();
      await row.getByText('0 requests of 1 request').waitFor();
      await choose('Grants and resets');
      await dialog().getByText('release week').waitFor();
      await dialog().getByText('a test used it up').waitFor();
      await page.keyboard.press('Escape');

      const { username, password } = customer;
      const own = await stage.open({ credentials: { username, password } });
      await own.go('/wallet?tab=budgets');
      const owned = own.page.getByRole('table', { name: 'Budgets' });
      await owned.getByRole('button', { name: 'More actions' }).click();
      await own.page.getByRole('menuitem', { name: 'Grants and resets' }).waitFor();
      expect(await own.page.getByRole('menuitem').count()).toBe(1);
      expect(own.complaints).toEqual([]);
      await own.context.close();

      await choose('Remove budget');
      await inDialog('Remove budget').click();
      await page.getByText('No budget yet').waitFor();
      expect([await ask(), await ask()]).toEqual([200, 200]);
    },
    STORY_MS,
  );

  test(
    'has forms in Chinese that fit a narrow screen and pass axe, whatever they ask for',
    async () => {
      const { customer, keyId } = await budgetedKey('narrow');
      const { username, password } = customer;
      const credentials = { username, password };
      const own = await stage.open({ credentials, width: 390, language: 'zh', theme: 'dark' });
      const { page } = own;
      const form = page.locator('[role=dialog]:not([data-type])');
      const table = page.getByRole('table', { name: '预算' });
      const faults = async (): Promise<unknown[]> => [
        await overflowOf(page),
        await page.evaluate<number>(FORM_OVERFLOW),
        ...(await violationsOn(page)),
      ];
      await own.go(`/keys/${keyId}`);
      await page.getByRole('button', { name: '设置预算' }).first().click();
      for (const period of ['每天', '滚动窗口', '总量']) {
        await form.getByLabel('周期').selectOption({ label: period });
        for (const unit of ['计费 token', '金额', '请求数']) {
          await form.getByLabel('计量').selectOption({ label: unit });
          expect([period, unit, ...(await faults())]).toEqual([period, unit, 0, 0]);
        }
      }
      await form.getByLabel('数量').fill('1');
      await form.getByRole('button', { name: '设置预算', exact: true }).click();
      for (const act of ['修改', '追加', '重新开始', '追加与重置记录']) {
        await table.getByRole('button', { name: '更多操作' }).click();
        await page.getByRole('menuitem', { name: act, exact: true }).click();
        await form.waitFor();
        expect([act, ...(await faults())]).toEqual([act, 0, 0]);
        await page.keyboard.press('Escape');
        await form.waitFor({ state: 'detached' });
      }
      expect(own.complaints).toEqual([]);
      await own.context.close();
    },
    STORY_MS,
  );
});
