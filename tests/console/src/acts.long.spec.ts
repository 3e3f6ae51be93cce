import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  createCustomer,
  createRoutedModel,
  type Customer,
  type RoutedModel,
} from '@tollgate/harness';
import type { Locator, Page } from 'playwright-core';
import { browser, startStage, WITHOUT, type Stage } from './stage.ts';

const START_MS = 120_000;
const STORY_MS = 120_000;
const BOUGHT = 1_000_000;

(browser === undefined ? describe.skip : describe)(`what is done on a page${WITHOUT}`, () => {
  let stage: Stage;
  let model: RoutedModel;
  let customer: Customer;

  beforeAll(async () => {
    stage = await startStage();
    model = await createRoutedModel(stage.tollgate, { name: 'acted-on', price_per_million: '3' });
    await stage.tollgate.admin.syncAll();
    customer = await createCustomer(stage.tollgate, { amount: '20' });
    await customer.client.subscribe({ model_id: model.id, tokens: BOUGHT });
  }, START_MS);

  afterAll(() => stage?.close(), START_MS);

  const asAdmin = (width = 1440) =>
    stage.open({ credentials: stage.tollgate.adminCredentials, width });
  const asCustomer = (width = 1440) => {
    const { username, password } = customer;
    return stage.open({ credentials: { username, password }, width });
  };

  test.each(['upstream', 'model', 'node', 'user', 'key'] as const)(
    'who deletes a %s is led to the list, and what is gone is not asked for',
    async (kind) => {
      const { page, complaints, context, go } = await asAdmin();
      const { address, list, name } = await createToDelete(stage, kind);
      await go(address);
      await moreActions(page, 'Delete');
      const typed = dialogOf(page).getByLabel(/^Type .* to confirm$/);
      await verb(page, 'Delete').waitFor();
      if (await typed.count()) await typed.fill(name);
      await verb(page, 'Delete').click();
      await page.waitForURL((url) => url.pathname === list);
      await settled(page);
      expect(complaints).toEqual([]);
      await context.close();
    },
    STORY_MS,
  );

  test(
    'the wallet names the model of each purchase and refund, and unsubscribing asks for nothing that is gone',
    async () => {
      const other = await createRoutedModel(stage.tollgate, { name: 'left-again' });
      await stage.tollgate.admin.syncAll();
      await customer.client.subscribe({ model_id: other.id, tokens: 1_000 });
      const { page, complaints, context, go } = await asCustomer();
      await go(`/models/${other.id}`);
      await page.getByRole('button', { name: 'Unsubscribe' }).click();
      await page.getByText('Wallet after').waitFor();
      await verb(page, 'Unsubscribe').click();
      await page.getByText('Unsubscribed;').waitFor();
      await settled(page);
      expect(complaints).toEqual([]);
      await go('/wallet');
      const rows = page.getByRole('table', { name: 'Movements' }).getByRole('row');
      await rows.filter({ hasText: 'Refund' }).filter({ hasText: 'left-again' }).waitFor();
      await rows.filter({ hasText: 'Subscription' }).filter({ hasText: 'left-again' }).waitFor();
      await rows.filter({ hasText: 'Subscription' }).filter({ hasText: 'acted-on' }).waitFor();
      await context.close();
    },
    STORY_MS,
  );

  test(
    'a model is deleted with exactly the refund that was shown',
    async () => {
      const { admin } = stage.tollgate;
      const gone = await createRoutedModel(stage.tollgate, {
        name: 'withdrawn',
        price_per_million: '2',
      });
      await admin.syncAll();
      await customer.client.subscribe({ model_id: gone.id, tokens: 500_000 });
      const before = await balanceOf(customer);
      const { page, context, go } = await asAdmin();
      await go(`/admin/models/${gone.id}`);
      await moreActions(page, 'Delete');
      await dialogOf(page)
        .getByText(/1 account is subscribed and holds 500,000 tokens.*USD\s1\.00/)
        .waitFor();
      await dialogOf(page).getByRole('checkbox').check();
      await verb(page, 'Delete').click();
      await page.waitForURL(/\/admin\/models$/);
      const until = Date.now() + STORY_MS / 4;
      while ((await balanceOf(customer)) !== before + 1 && Date.now() < until)
        await page.waitForTimeout(100);
      expect(await balanceOf(customer)).toBe(before + 1);
      await context.close();
    },
    STORY_MS,
  );

  test(
    'an upstream is set to pass ids of files, and its page says so',
    async () => {
      const { admin, upstreamUrl } = stage.tollgate;
      const id = await admin.createUpstream({
        name: 'takes-files',
        protocol: 'openai',
        base_url: `${upstreamUrl}/v1`,
        api_key: 'k',
      });
      const passes = async (): Promise<unknown> =>
        Object(await admin.call('GET', `/upstreams/${id}`)).passes_file_ids;
      expect(await passes()).toBe(false);
      const { page, context, go } = await asAdmin();
      await go(`/admin/upstreams/${id}`);
      const fact = page.locator('dl div').filter({ hasText: 'Pass ids of files' }).locator('dd');
      await fact.filter({ hasText: 'No' }).waitFor();
      await moreActions(page, 'Edit');
      await dialogOf(page).getByLabel('Pass ids of files').check();
      await verb(page, 'Save changes').click();
      await fact.filter({ hasText: 'Yes' }).waitFor();
      expect(await passes()).toBe(true);
      await context.close();
    },
    STORY_MS,
  );

  test(
    'the configuration in force cannot be rolled back to, and says why',
    async () => {
      const { page, context, go } = await asAdmin();
      await go('/admin/snapshots');
      const rows = page.getByRole('table', { name: 'Configurations' }).getByRole('row');
      await rows.nth(1).getByText('In force').waitFor();
      const newest = rows.nth(1).getByRole('button', { name: 'Roll back' });
      expect(await newest.getAttribute('aria-disabled')).toBe('true');
      await newest.hover();
      await page.getByText('This configuration is in force').waitFor();
      const older = rows.nth(2).getByRole('button', { name: 'Roll back' });
      expect(await older.getAttribute('aria-disabled')).toBeNull();
      await context.close();
    },
    STORY_MS,
  );

  test(
    'on a narrow screen the picture of routes is whole, and a route is switched off and deleted',
    async () => {
      const spare = await createRoutedModel(stage.tollgate, { name: 'narrow-route' });
      const { page, context, go } = await asAdmin(390);
      await go('/admin/routing');
      const picture = page.getByRole('img', { name: 'Models and their upstreams' });
      await picture.locator('text', { hasText: 'narrow-route' }).waitFor();
      const box = await picture.boundingBox();
      expect((box?.x ?? 0) + (box?.width ?? 999)).toBeLessThanOrEqual(390);
      const row = page
        .getByRole('table', { name: 'Routing' })
        .getByRole('row')
        .filter({ has: page.getByRole('link', { name: 'narrow-route' }) })
        .filter({ hasText: 'openai' });
      await row.getByRole('button', { name: 'Actions' }).click();
      await page.getByRole('menuitem', { name: 'Disable' }).click();
      await row.getByText('Not used').filter({ visible: true }).waitFor();
      await row.getByRole('button', { name: 'Actions' }).click();
      await page.getByRole('menuitem', { name: 'Delete' }).click();
      await verb(page, 'Delete').click();
      // While a dialog is open, the page behind it has no roles.
      await dialogOf(page).first().waitFor({ state: 'detached' });
      await row.waitFor({ state: 'detached' });
      const routes = await stage.tollgate.admin.list(`/routing?page_size=100`);
      expect(routes.filter(({ model_id: id }) => id === spare.id)).toHaveLength(1);
      await context.close();
    },
    STORY_MS,
  );

  test(
    'on a narrow screen a list of requests says which of them failed',
    async () => {
      const { page, context, go } = await asCustomer(390);
      await page.route(/\/admin-api\/usage\/logs/, (route) =>
        route.fulfill({ json: { data: [FAILED], next_cursor: null, has_more: false } }),
      );
      await go('/usage?show=requests');
      await page
        .getByRole('table', { name: 'Requests' })
        .getByText('Upstream failed')
        .filter({ visible: true })
        .waitFor();
      await context.close();
    },
    STORY_MS,
  );
});

/** Is a request as the interface lists it. */
const FAILED = {
  rid: '01a2056f-37c7-7e2c-8bdd-2aa34c4a1ae3',
  started_at: new Date().toISOString(),
  model: 'acted-on',
  outcome: 'upstream_failed',
  status: 502,
  route: [{ upstream: 'up', error: 'status', status: 503 }],
  key_name: 'k',
  username: 'u',
  upstream: 'up',
  node: 'node-1',
  charge: 0,
  input_tokens: null,
  output_tokens: null,
  first_token_ms: null,
  duration_ms: 12,
};

/** Notices are dialogs of their own. */
function dialogOf(page: Page): Locator {
  return page.locator('[role=dialog]:not([data-type])');
}

function verb(page: Page, name: string): Locator {
  return dialogOf(page).getByRole('button', { name, exact: true });
}

async function moreActions(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name: 'More actions', exact: true }).click();
  await page.getByRole('menuitem', { name, exact: true }).click();
}

/** Waits until everything that the act set going has been asked for and answered. */
async function settled(page: Page): Promise<void> {
  await page.waitForLoadState('networkidle', { timeout: 3_000 }).catch(() => {});
  await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' });
}

async function balanceOf({ client }: Customer): Promise<number> {
  return Number(Object(await client.call('GET', '/wallet')).balance);
}

/** Creates one of its kind that nothing depends on; returns where its page is, and the list that the console leads back to. */
async function createToDelete(
  { tollgate: { admin, upstreamUrl } }: Stage,
  kind: 'upstream' | 'model' | 'node' | 'user' | 'key',
): Promise<{ address: string; list: string; name: string }> {
  const name = `gone-${kind}`;
  switch (kind) {
    case 'upstream': {
      const id = await admin.createUpstream({
        name,
        protocol: 'openai',
        base_url: `${upstreamUrl}/v1`,
        api_key: 'k',
      });
      return { address: `/admin/upstreams/${id}`, list: '/admin/upstreams', name };
    }
    case 'model': {
      const id = await admin.createModel({ name });
      return { address: `/admin/models/${id}`, list: '/admin/models', name };
    }
    case 'node':
      await admin.call('POST', '/proxy-nodes', { name });
      return { address: `/admin/nodes/${name}`, list: '/admin/nodes', name };
    case 'user': {
      await admin.call('POST', '/users', { username: name });
      const [user] = await admin.list(`/users?q=${name}`);
      return { address: `/admin/users/${Number(user?.id)}`, list: '/admin/users', name };
    }
    case 'key': {
      const { id } = await admin.createKey({ name, allowed_models: '*', rpm: 0 });
      const me = Object(await admin.call('GET', `/keys/${id}`)).user_id;
      return { address: `/admin/keys/${id}`, list: `/admin/users/${me}`, name };
    }
  }
}
