import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createCustomer, createRoutedModel, subscribeWithKey } from '@tollgate/harness';
import { browser, startStage, WITHOUT, type Stage, type Visitor } from './stage.ts';

const START_MS = 120_000;
const STORY_MS = 180_000;
const MODEL = 'by-hand';

(browser === undefined ? describe.skip : describe)(`an administrator${WITHOUT}`, () => {
  let stage: Stage;
  let visitor: Visitor;

  beforeAll(async () => {
    stage = await startStage();
    visitor = await stage.open({ credentials: stage.tollgate.adminCredentials });
  }, START_MS);

  afterAll(() => stage?.close(), START_MS);

  const button = (name: string) => visitor.page.getByRole('button', { name, exact: true });
  // Notices are dialogs of their own.
  const dialog = () => visitor.page.locator('[role=dialog]:not([data-type])');
  const inDialog = (name: string) => dialog().getByRole('button', { name, exact: true });
  const rowOf = (table: string, name: string) =>
    visitor.page.getByRole('table', { name: table }).getByRole('row').filter({ hasText: name });
  const call = async (url: string, secret: string): Promise<number> => {
    const answer = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: MODEL, messages: [{ role: 'user', content: 'Hi' }] }),
    });
    await answer.text();
    return answer.status;
  };

  test(
    'connects an upstream, adds a model with a price and a route, and customers can call it',
    async () => {
      const { page } = visitor;
      await visitor.go('/admin/upstreams');
      await button('Add upstream').first().click();
      await dialog().getByLabel('Name').fill('hand-made');
      await dialog().getByLabel('Base address').fill(`${stage.tollgate.upstreamUrl}/v1`);
      await dialog().getByLabel('API key').fill('demo-upstream-key');
      await inDialog('Add upstream').click();
      await page.getByText('hand-made is added').waitFor();
      // What the new installation needs next is said where one is.
      await page.getByText('Next: add a model').waitFor();

      // The test of the connection makes a real call and says what it cost.
      await page.getByRole('link', { name: 'hand-made' }).click();
      await button('Test connection').click();
      await dialog().getByLabel('Model at the provider').fill('demo-ok');
      await inDialog('Test connection').click();
      await dialog()
        .getByText(/Answered in/)
        .waitFor();
      await dialog()
        .getByText(/input tokens? and .* output tokens? were used/)
        .waitFor();
      await page.keyboard.press('Escape');

      await visitor.go('/admin/models');
      await button('Add model').first().click();
      await dialog().getByLabel('Name', { exact: true }).fill(MODEL);
      await dialog().getByLabel('Price per million').fill('2');
      await inDialog('Add model').click();
      await page.getByText(`${MODEL} is added`).waitFor();

      await visitor.go('/admin/routing');
      await button('Add route').first().click();
      await dialog().getByLabel('Model', { exact: true }).selectOption({ label: MODEL });
      await dialog().getByLabel('Upstream', { exact: true }).selectOption({ label: 'hand-made' });
      await dialog().getByLabel('Name at the upstream').fill('demo-ok');
      await inDialog('Add route').click();
      await page.getByText('The route is saved').waitFor();

      const [model] = await stage.tollgate.admin.list(`/models?q=${MODEL}`);
      await stage.tollgate.admin.syncAll();
      const customer = await createCustomer(stage.tollgate);
      const secret = await subscribeWithKey(customer, { modelIds: [Number(model?.id)] });
      expect(await call(stage.address, secret)).toBe(200);
    },
    STORY_MS,
  );

  test(
    'plans a price and sees what it means before it is set',
    async () => {
      const { page } = visitor;
      await visitor.go('/admin/models');
      await page.getByRole('link', { name: MODEL }).click();
      await button('Set price').first().click();
      await dialog().getByLabel('Price per million').fill('4');
      // Shown once the server has computed both sides.
      const effect = await dialog()
        .getByText(/costs .* today and .* then/)
        .innerText();
      const [today, then] = [...effect.matchAll(/USD\s([\d.]+)/g)].map(([, cost]) => Number(cost));
      expect(then).toBeCloseTo(Number(today) * 2, 6);
      await inDialog('Set price').click();
      await page.getByText('The price is set').waitFor();
      await page.getByText('In force').waitFor();
      const prices = await stage.tollgate.admin.list(
        `/models/pricing?sort=-effective_at&page_size=1`,
      );
      expect(prices[0]?.price_per_million).toBe('4');
    },
    STORY_MS,
  );

  test(
    'sees the acknowledgement of each node arrive, and which node lags',
    async () => {
      const { page } = visitor;
      const { kill } = stage.tollgate;
      await visitor.go('/admin/routing');
      await rowOf('Routing', MODEL).getByRole('button', { name: 'Edit' }).click();
      await kill('node-2', 'SIGSTOP');
      try {
        await dialog().getByLabel('Weight').fill('7');
        await inDialog('Save changes').click();
        await page.getByText('The route is saved').waitFor();
        await visitor.go('/admin/nodes');
        await button('Sync all nodes').click();
        const line = (node: string) => dialog().getByRole('listitem').filter({ hasText: node });
        await line('node-1')
          .getByText(/Acknowledged after|current/)
          .waitFor();
        await line('node-2').getByText('Waiting for its acknowledgement').waitFor();
        const other = await visitor.context.newPage();
        await other.goto(`${stage.address}/admin/snapshots`);
        const behind = other.locator('section').filter({ hasText: 'Nodes that are behind' });
        await behind.getByRole('link', { name: 'node-2' }).waitFor();
        await behind.getByText(/its acknowledgement is awaited|The node is offline/).waitFor();
        expect(await behind.getByRole('link', { name: 'node-1' }).count()).toBe(0);
        await other.close();
        await kill('node-2', 'SIGCONT');
        await line('node-2')
          .getByText(/Acknowledged after/)
          .waitFor();
      } finally {
        await kill('node-2', 'SIGCONT');
      }
      await page.keyboard.press('Escape');
    },
    STORY_MS,
  );

  test(
    'approves the account they meant, and no other by a second click at the same place',
    async () => {
      const { page } = visitor;
      const { admin } = stage.tollgate;
      for (const name of ['waits-a', 'waits-b', 'waits-c'])
        await admin.register(name, 'a sentence to remember');
      const waiting = async (): Promise<unknown[]> =>
        (await admin.list('/users?status=pending&q=waits-')).map(({ username }) => username);
      await visitor.go('/admin/users?status=pending&q=waits-');
      const approve = button('Approve').first();
      const box = await approve.boundingBox();
      // Below the heading: the newest.
      const name = await page.getByRole('row').nth(1).getByRole('link').innerText();
      const here = [(box?.x ?? 0) + 5, (box?.y ?? 0) + 5] as const;
      await page.mouse.click(...here);
      // The list was asked for again: the account that waited there does so no longer.
      await page.getByRole('row').filter({ hasText: name }).getByText('Active').waitFor();
      await page.mouse.click(...here, { clickCount: 2 });
      await page.waitForLoadState('networkidle');
      expect(await waiting()).toHaveLength(2);
      expect(await waiting()).not.toContain(name);
      expect(page.url()).toContain('/admin/users?');
      for (const { id } of await admin.list('/users?status=pending&q=waits-'))
        await admin.call('POST', `/users/${Number(id)}/reject`);
    },
    STORY_MS,
  );

  test(
    'stops a node, starts it again, and sees one that died',
    async () => {
      const { page } = visitor;
      const { kill, restart, nodeUrls } = stage.tollgate;
      await visitor.go('/admin/nodes/node-1');
      await button('Stop serving').click();
      await inDialog('Stop serving').click();
      await page.getByText('Stopped').first().waitFor();
      expect(await call(nodeUrls[0] ?? '', 'sk-none')).toBe(503);
      await button('Start serving').click();
      await page.getByText('Online').first().waitFor();

      await visitor.go('/admin/nodes');
      await rowOf('Nodes', 'node-2').getByText('Online').waitFor();
      await kill('node-2');
      await rowOf('Nodes', 'node-2').getByText('Offline').waitFor({ timeout: 60_000 });
      await restart('node-2');
      await rowOf('Nodes', 'node-2').getByText('Online').waitFor({ timeout: 60_000 });
    },
    STORY_MS,
  );

  test(
    'sets the ceilings of the installation and of one account, which win over what a key says',
    async () => {
      const { page } = visitor;
      const { admin } = stage.tollgate;
      const customer = await createCustomer(stage.tollgate);
      const { id } = await customer.client.createKey({ name: 'k', allowed_models: '*', rpm: 900 });
      const limit = async (): Promise<unknown> =>
        Object(await admin.call('GET', `/keys/${id}`)).limits_in_force.rpm;
      await visitor.go('/admin/users');
      await button('Set ceilings').click();
      await dialog().getByLabel('Requests a minute').fill('500');
      await inDialog('Set ceilings').click();
      await page.getByText('The ceilings are in force').waitFor();
      expect(await limit()).toBe(500);

      await visitor.go(`/admin/users/${customer.id}`);
      await button('More actions').click();
      await page.getByRole('menuitem', { name: 'Set ceilings' }).click();
      await dialog().getByLabel('Requests a minute').fill('40');
      await inDialog('Set ceilings').click();
      await page.getByText('The ceilings are in force').waitFor();
      expect(await limit()).toBe(40);

      // Emptied, the installation's is in force again.
      await page.reload();
      await button('More actions').click();
      await page.getByRole('menuitem', { name: 'Set ceilings' }).click();
      const field = dialog().getByLabel('Requests a minute');
      expect(await field.inputValue()).toBe('40');
      await field.fill('');
      await inDialog('Set ceilings').click();
      await page.getByText('The ceilings are in force').waitFor();
      expect(await limit()).toBe(500);
      await admin.call('PUT', '/admin/ceilings', { rpm: 0, rph: 0, rpd: 0 });
    },
    STORY_MS,
  );

  test(
    'has the books proven, with nothing left to book',
    async () => {
      const { page } = visitor;
      await visitor.go('/admin/books');
      await button('Prove now').click();
      const equalities = page.getByRole('table', { name: 'Books' });
      await equalities.getByText('Not proven yet').first().waitFor({ state: 'detached' });
      expect(await equalities.getByText('Does not hold').count()).toBe(0);
      const { waiting_jobs: waiting } = Object(
        await stage.tollgate.admin.call('GET', '/admin/books'),
      );
      expect(waiting).toBe(0);
    },
    STORY_MS,
  );

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

  test(
    'a list of 250 upstreams draws the rows near the window, and scrolls to the last',
    async () => {
      const { page } = visitor;
      for (let number = 0; number < 250; number += 1)
        await stage.tollgate.admin.createUpstream({
          name: `many-${String(number).padStart(3, '0')}`,
          protocol: 'openai',
          base_url: `${stage.tollgate.upstreamUrl}/v1`,
          api_key: 'k',
        });
      await visitor.go('/admin/upstreams');
      await page.getByRole('link', { name: 'many-000' }).waitFor();
      const drawn = () => page.getByRole('link', { name: /^many-/ }).count();
      expect(await drawn()).toBeLessThan(100);
      await page.keyboard.press('End');
      await page.getByRole('link', { name: 'many-249' }).waitFor();
      expect(await drawn()).toBeLessThan(100);
    },
    STORY_MS,
  );
});

async function newestDocument({ tollgate }: Stage): Promise<unknown> {
  const [newest] = await tollgate.admin.list('/snapshots');
  const detail = await tollgate.admin.call('GET', `/snapshots/${Number(newest?.version)}`);
  return Reflect.get(Object(detail), 'document');
}
