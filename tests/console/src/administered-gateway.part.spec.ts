import { expect, test } from '@jest/globals';
import { createCustomer, subscribeWithKey } from '@tollgate/harness';
import { WITHOUT } from './stage.ts';
import {
  button,
  call,
  describeInBrowser,
  dialog,
  inDialog,
  MODEL,
  rowOf,
  stage,
  STORY_MS,
  visitor,
} from './administrator-under-test.ts';

describeInBrowser(`an administrator${WITHOUT}`, () => {
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
      // The page names the next step that the new installation needs.
      await page.getByText('Next: add a model').waitFor();

      // The test of the connection makes a real call and says what it cost.
      await page.getByRole('link', { name: 'hand-made' }).click();
      await button('Test connection').click();
      await inDialog('Test connection').click();
      await dialog()
        .getByText(/The provider lists \d+ models/)
        .click();
      await dialog().getByText('demo-ok', { exact: true }).waitFor();
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
    'adds a provider by its preset, which asks only for what it does not know',
    async () => {
      const { page } = visitor;
      await visitor.go('/admin/upstreams');
      await button('Add upstream').first().click();
      await dialog().getByLabel('Provider').selectOption({ label: 'Amazon Bedrock' });
      await dialog()
        .getByLabel('Base address')
        .fill('https://bedrock-runtime.eu-west-1.amazonaws.com');
      await dialog().getByLabel('Region').fill('eu-west-1');
      await dialog().getByLabel('Access key ID').fill('AKIDEXAMPLE');
      await dialog().getByLabel('Secret access key').fill('not-a-real-secret');
      // A fault of a field that is folded away opens it.
      expect(await dialog().getByLabel('Requests at a time').isVisible()).toBe(false);
      await dialog().getByText('More settings').click();
      await dialog().getByLabel('Headers').fill('authorization: secret');
      await dialog().getByText('More settings').click();
      await inDialog('Add upstream').click();
      await dialog()
        .getByText(/carries a credential/)
        .waitFor();
      expect(await dialog().getByRole('alert').count()).toBe(0);
      await dialog().getByLabel('Headers').fill('');
      await inDialog('Add upstream').click();
      await page.getByText('bedrock is added').waitFor();

      await button('Add upstream').first().click();
      await dialog().getByLabel('Provider').selectOption({ label: 'DeepSeek' });
      expect(await dialog().getByLabel('Base address').count()).toBe(0);
      await dialog().getByLabel('API key').fill('sk-example');
      await inDialog('Add upstream').click();
      await page.getByText('deepseek is added').waitFor();
      const added = await stage.tollgate.admin.list('/upstreams?q=e');
      expect(added).toEqual(
        expect.arrayContaining([
          expect.objectContaining({ name: 'bedrock', auth_type: 'aws', protocol: 'bedrock' }),
          expect.objectContaining({ name: 'deepseek', base_url: 'https://api.deepseek.com/v1' }),
        ]),
      );
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
      // It is shown once the server has computed both sides.
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
      // The newest is below the heading.
      const name = await page.getByRole('row').nth(1).getByRole('link').innerText();
      const here = [(box?.x ?? 0) + 5, (box?.y ?? 0) + 5] as const;
      await page.mouse.click(...here);
      // The page has asked for the list again, in which the account of the first row no longer waits.
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
      await button('Limits').click();
      await dialog().getByLabel('Requests a minute').fill('500');
      await inDialog('Limits').click();
      await page.getByText('The limits are in force').waitFor();
      expect(await limit()).toBe(500);

      await visitor.go(`/admin/users/${customer.id}`);
      await button('More actions').click();
      await page.getByRole('menuitem', { name: 'Limits' }).click();
      await dialog().getByLabel('Requests a minute').fill('40');
      await inDialog('Limits').click();
      await page.getByText('The limits are in force').waitFor();
      expect(await limit()).toBe(40);

      // Emptied, the installation's is in force again.
      await page.reload();
      await button('More actions').click();
      await page.getByRole('menuitem', { name: 'Limits' }).click();
      const field = dialog().getByLabel('Requests a minute');
      expect(await field.inputValue()).toBe('40');
      await field.fill('');
      await inDialog('Limits').click();
      await page.getByText('The limits are in force').waitFor();
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
      await equalities.getByText('Not proved yet').first().waitFor({ state: 'detached' });
      expect(await equalities.getByText('Does not hold').count()).toBe(0);
      const { waiting_jobs: waiting } = Object(
        await stage.tollgate.admin.call('GET', '/admin/books'),
      );
      expect(waiting).toBe(0);
    },
    STORY_MS,
  );
});
