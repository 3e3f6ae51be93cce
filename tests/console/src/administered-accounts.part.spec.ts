import { expect, test } from '@jest/globals';
import { createCustomer, createRoutedModel } from '@tollgate/harness';
import { WITHOUT } from './stage.ts';
import {
  button,
  call,
  describeInBrowser,
  dialog,
  inDialog,
  newestDocument,
  rowOf,
  stage,
  STORY_MS,
  visitor,
} from './administrator-under-test.ts';

describeInBrowser(`an administrator${WITHOUT}`, () => {
  test(
    'rolls back to an earlier configuration, and lets publication go on',
    async () => {
      const { page } = visitor;
      const weight = async () => {
        const { routes } = Object(await newestDocument(stage));
        return routes.at(-1)?.weight;
      };
      expect(await weight()).toBe(7);
      await visitor.go('/admin/snapshots');
      const rows = page.getByRole('table', { name: 'Configurations' }).getByRole('row');
      // Row 0 is the heading, row 1 the newest, row 2 the one before the weight was changed.
      await rows.nth(2).getByRole('button', { name: 'Roll back' }).click();
      await dialog().getByText('Publication is pinned until it is unpinned').waitFor();
      // The difference is shown before it is published.
      await dialog().getByRole('heading', { name: 'Routes' }).waitFor();
      await dialog().getByText('7 → 1').waitFor();
      await inDialog('Roll back').click();
      await page.getByText(/is published and pinned/).waitFor();
      expect(await weight()).toBe(1);
      await button('Unpin').click();
      await page.getByText('Publication follows changes again').waitFor();
      expect(await weight()).toBe(7);
    },
    STORY_MS,
  );

  test(
    'approves an account, freezes it, and its next call is refused with the reason on its page',
    async () => {
      const { page } = visitor;
      const password = 'a sentence to remember';
      await stage.tollgate.admin.register('newcomer', password);
      await visitor.go('/admin/users?status=pending');
      await rowOf('Users', 'newcomer').getByRole('button', { name: 'Approve' }).click();
      await page.getByText('newcomer is Active').waitFor();

      const [user] = await stage.tollgate.admin.list('/users?q=newcomer');
      const client = await stage.tollgate.admin.login('newcomer', password);
      const { key } = await client.createKey({ name: 'k', allowed_models: '*', rpm: 0 });
      await visitor.go(`/admin/users/${Number(user?.id)}`);
      await button('More actions').click();
      await page.getByRole('menuitem', { name: 'Freeze' }).click();
      await dialog().getByText('1 key stops with the next request').waitFor();
      await inDialog('Freeze').click();
      await page.getByText('newcomer is Frozen').waitFor();
      expect(await call(stage.address, key)).toBe(403);
      await page.getByRole('tab', { name: 'Events' }).click();
      await rowOf('Events', 'Account frozen').waitFor();

      const other = await stage.open();
      await other.go('/login');
      await other.page.getByLabel('Username').fill('newcomer');
      await other.page.getByLabel('Password', { exact: true }).fill(password);
      await other.page.keyboard.press('Enter');
      await other.page.getByText('This account is frozen').waitFor();
      await other.context.close();
    },
    STORY_MS,
  );

  test(
    'erases the personal data of a deleted account after seeing what it is and typing its name',
    async () => {
      const { page } = visitor;
      const { admin } = stage.tollgate;
      await admin.call('POST', '/users', { username: 'forget-me' });
      const [user] = await admin.list('/users?q=forget-me');
      const id = Number(user?.id);
      await admin.call('DELETE', `/users/${id}`);
      await visitor.go('/admin/users?status=deleted');
      const row = page.getByRole('row', { name: /forget-me/ });
      await row.getByRole('button', { name: 'Erase personal data' }).click();
      await dialog().getByText('Name and password').waitFor();
      expect(await inDialog('Erase personal data').isDisabled()).toBe(true);
      await dialog().getByLabel('Type forget-me to confirm').fill('forget-me');
      await inDialog('Erase personal data').click();
      await page.getByText('Personal data of forget-me is erased').waitFor();
      await page.getByText(`erased-${id}`).waitFor();
      expect(await page.getByRole('button', { name: 'Erase personal data' }).count()).toBe(0);
      const [left] = await admin.list('/users?status=deleted&q=forget-me');
      expect(left).toBeUndefined();
    },
    STORY_MS,
  );

  test(
    'makes an account, whose owner replaces the one-time password before anything else',
    async () => {
      await visitor.go('/admin/users');
      await button('Add user').click();
      await dialog().getByLabel('Username').fill('made-here');
      await inDialog('Add user').click();
      const secret = (await dialog().getByTestId('secret').textContent()) ?? '';
      await visitor.page.keyboard.press('Escape');

      const other = await stage.open({ credentials: { username: 'made-here', password: secret } });
      await other.go('/keys');
      await other.page.getByRole('heading', { name: 'Set a password of your own' }).waitFor();
      await other.page.getByLabel('One-time password', { exact: true }).fill(secret);
      await other.page.getByLabel('New password', { exact: true }).fill('another long sentence');
      await other.page.keyboard.press('Enter');
      await other.page.getByRole('heading', { name: 'API keys' }).waitFor();
      await other.context.close();
    },
    STORY_MS,
  );

  test(
    'a customer who unsubscribes gets back exactly what was shown',
    async () => {
      const { tollgate } = stage;
      const model = await createRoutedModel(tollgate, { name: 'refunded', price_per_million: '3' });
      await tollgate.admin.syncAll();
      const customer = await createCustomer(tollgate, { amount: '10' });
      await customer.client.subscribe({ model_id: model.id, tokens: 1_000_000 });
      const other = await stage.open({
        credentials: { username: customer.username, password: customer.password },
      });
      await other.go(`/models/${model.id}`);
      await other.page.getByRole('button', { name: 'Unsubscribe' }).click();
      const shown = other.page.locator('[role=dialog]:not([data-type])');
      const amount = async (name: string): Promise<string> => {
        const text = await shown.getByTestId(name).innerText();
        return text.replace(/USD\s/, '');
      };
      await shown.getByText('Wallet after').waitFor();
      const [refund, after] = [await amount('refund'), await amount('wallet-after')];
      await shown.getByRole('button', { name: 'Unsubscribe' }).click();
      await other.page.getByText(`Unsubscribed; USD ${refund} went back to the wallet`).waitFor();
      const { balance } = Object(await customer.client.call('GET', '/wallet'));
      expect(Number(balance)).toBe(Number(after));
      const [entry] = await customer.client.list('/wallet/logs?kind=refund');
      expect(Number(entry?.amount)).toBe(Number(refund));
      await other.context.close();
    },
    STORY_MS,
  );

  test(
    'accounts that wait for approval come first, whatever page they are on',
    async () => {
      await stage.tollgate.admin.register('waits-long', 'a sentence to remember');
      for (let number = 0; number < 60; number += 1)
        await createCustomer(stage.tollgate, { username: `later-${number}`, amount: '0' });
      await visitor.go('/admin/users');
      const waiting = visitor.page.getByRole('table', { name: '1 account waits for approval' });
      await waiting.getByText('waits-long').waitFor();
      const [user] = await stage.tollgate.admin.list('/users?q=waits-long');
      await stage.tollgate.admin.call('POST', `/users/${Number(user?.id)}/reject`);
    },
    STORY_MS,
  );

  test(
    'the log of activity names every action in words, and shows those of one kind alone',
    async () => {
      const { page } = visitor;
      const { admin } = stage.tollgate;
      await admin.register('unwanted', 'a sentence to remember');
      const [user] = await admin.list('/users?q=unwanted');
      await admin.call('POST', `/users/${Number(user?.id)}/reject`);
      await visitor.go('/admin/activity');
      const actions = page.locator('tbody td:nth-child(3) > span');
      await actions.first().waitFor();
      const shown = await actions.allTextContents();
      expect(shown.filter((text) => /^[a-z_]+\.[a-z_]+$/.test(text))).toEqual([]);
      await page.getByRole('combobox', { name: 'Action' }).selectOption('Account rejected');
      await page.waitForURL(/action=user\.reject/);
      await actions
        .filter({ hasNotText: 'Account rejected' })
        .first()
        .waitFor({ state: 'detached' });
      expect(new Set(await actions.allTextContents())).toEqual(new Set(['Account rejected']));
    },
    STORY_MS,
  );

  test(
    'models are ordered by name, price and context window, those without one last',
    async () => {
      const { page } = visitor;
      const { admin } = stage.tollgate;
      await admin.createModel({ name: 'order-b', context_window: 8_000 });
      await admin.createModel({ name: 'order-a' });
      await admin.createModel({ name: 'order-c', context_window: 2_000 });
      await visitor.go('/admin/models?q=order-');
      const names = async (): Promise<string[]> =>
        page.getByRole('link', { name: /^order-/ }).allTextContents();
      await page.getByRole('link', { name: 'order-a' }).waitFor();
      expect(await names()).toEqual(['order-a', 'order-b', 'order-c']);
      await page.getByRole('button', { name: 'Context' }).click();
      await page.waitForURL(/sort=-context/);
      expect(await names()).toEqual(['order-b', 'order-c', 'order-a']);
      await page.getByRole('button', { name: 'Context' }).click();
      await page.waitForURL(/sort=context/);
      expect(await names()).toEqual(['order-c', 'order-b', 'order-a']);
    },
    STORY_MS,
  );

  test(
    'a search keeps the letter that is typed while the one before is written into the address',
    async () => {
      const credentials = stage.tollgate.adminCredentials;
      const { page, go, context } = await stage.open({ credentials });
      await page.addInitScript(`
        const commit = History.prototype.replaceState;
        History.prototype.replaceState = function (...parts) {
          if (String(parts[2]).includes('q=a')) window.typeMore?.();
          return commit.apply(this, parts);
        };`);
      await go('/admin/users');
      await page.evaluate(`window.typeMore = () => {
        window.typeMore = undefined;
        const box = document.querySelector('input[type=search]');
        Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(box, box.value + 'min');
        box.dispatchEvent(new Event('input', { bubbles: true }));
      }`);
      await page.getByRole('searchbox').fill('ad');
      await page.waitForURL(/q=admin/);
      expect(await page.getByRole('searchbox').inputValue()).toBe('admin');
      await context.close();
    },
    STORY_MS,
  );
});
