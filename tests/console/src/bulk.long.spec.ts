import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createCustomer } from '@tollgate/harness';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { browser, startStage, WITHOUT, type Stage, type Visitor } from './stage.ts';

const START_MS = 120_000;
const STORY_MS = 120_000;
const LISTED = ['gpt-5-listed', 'claude-haiku-4-5-listed', 'known-model', 'no blanks'];

(browser === undefined ? describe.skip : describe)(`one act on many records${WITHOUT}`, () => {
  let stage: Stage;
  let visitor: Visitor;
  let provider: Server;
  let upstreamId: number;

  beforeAll(async () => {
    provider = createServer((_, response) => {
      response.end(JSON.stringify({ data: LISTED.map((id) => ({ id })) }));
    });
    await once(provider.listen(0, '127.0.0.1'), 'listening');
    const closed = createServer();
    await once(closed.listen(0, '127.0.0.1'), 'listening');
    const nowhere = (closed.address() as AddressInfo).port;
    closed.close();
    stage = await startStage();
    const { admin } = stage.tollgate;
    const { port } = provider.address() as AddressInfo;
    upstreamId = await admin.createUpstream({
      name: 'listing',
      protocol: 'openai',
      base_url: `http://127.0.0.1:${port}/v1`,
      api_key: 'k',
    });
    await admin.createUpstream({
      name: 'nowhere',
      protocol: 'openai',
      base_url: `http://127.0.0.1:${nowhere}/v1`,
      api_key: 'k',
    });
    await admin.createModel({ name: 'known-model' });
    visitor = await stage.open({ credentials: stage.tollgate.adminCredentials });
  }, START_MS);

  afterAll(async () => {
    provider?.close();
    await stage?.close();
  });

  const dialog = () => visitor.page.locator('[role=dialog]:not([data-type])');
  const inDialog = (name: string | RegExp) => dialog().getByRole('button', { name });
  const step = (name: string) => dialog().getByRole('row').filter({ hasText: name });

  test(
    "a provider's models are read, reviewed and added with price and route; nothing before the review",
    async () => {
      const { page, go } = visitor;
      const { admin } = stage.tollgate;
      await go(`/admin/upstreams/${upstreamId}`);
      await page.getByRole('button', { name: 'More actions', exact: true }).click();
      await page.getByRole('menuitem', { name: 'Add its models' }).click();
      await step('known-model').getByText('Has a model').waitFor();
      await inDialog('Choose all new ones shown').click();
      await dialog().getByLabel('Choose known-model').check();
      await dialog().getByLabel('Price per million of all chosen').fill('3');
      await dialog().getByLabel('Price per million of gpt-5-listed').fill('2.5');
      await dialog().getByLabel('Weight of output').fill('4');
      await inDialog('Review 4 models').click();
      const model = step('gpt-5-listed').first();
      await model.getByText('price_per_million: 2.5').waitFor();
      await model.getByText('owned_by: openai').waitFor();
      await step('no blanks')
        .first()
        .getByText(/cannot send this name/)
        .waitFor();
      expect(await admin.list('/models?q=listed')).toEqual([]);
      await inDialog('Apply 5 changes').click();
      await page.getByText('5 changes applied').waitFor();
      await dialog().waitFor({ state: 'detached' });
      expect(await admin.list('/models?q=listed&sort=name')).toMatchObject([
        { name: 'claude-haiku-4-5-listed', owned_by: 'anthropic', is_on_shelf: true },
        { name: 'gpt-5-listed', owned_by: 'openai', is_on_shelf: true },
      ]);
      expect(await admin.list(`/routing?upstream_id=${upstreamId}`)).toHaveLength(3);
      expect(visitor.complaints).toEqual([]);
    },
    STORY_MS,
  );

  test(
    'accounts are frozen together, after a review that names the keys that stop',
    async () => {
      const { page, go } = visitor;
      const [one, two] = [
        await createCustomer(stage.tollgate, { username: 'many-one' }),
        await createCustomer(stage.tollgate, { username: 'many-two' }),
      ];
      await one?.client.createKey({ name: 'a' });
      await go('/admin/users?q=many-');
      await page.getByLabel('Choose many-one').check();
      await page.getByLabel('Choose many-two').check();
      await page.getByText('2 chosen').waitFor();
      await page.getByRole('button', { name: 'Freeze', exact: true }).click();
      await step('many-one').getByText('status: active → frozen').waitFor();
      await step('many-one').getByText('1 enabled key').waitFor();
      // Meanwhile another administrator freezes one of them: the act is refused.
      await stage.tollgate.admin.call('POST', `/users/${two?.id}/freeze`);
      await inDialog('Apply 2 changes').click();
      await dialog().getByText('The plan would change something else by now').waitFor();
      expect(await stage.tollgate.admin.call('GET', `/users/${one?.id}`)).toMatchObject({
        status: 'active',
      });
      await inDialog('Cancel').click();
      await page.getByRole('button', { name: 'Freeze', exact: true }).click();
      await step('many-two').getByText('Left out: its state does not allow it').waitFor();
      await inDialog('Apply 1 change').click();
      await page.getByText('1 change applied').waitFor();
      expect(await stage.tollgate.admin.call('GET', `/users/${one?.id}`)).toMatchObject({
        status: 'frozen',
      });
    },
    STORY_MS,
  );

  test(
    'keys and models are acted on together',
    async () => {
      const { page, go } = visitor;
      const customer = await createCustomer(stage.tollgate);
      for (const name of ['k1', 'k2']) await customer.client.createKey({ name });
      await go(`/admin/users/${customer.id}?tab=keys`);
      await page.getByRole('button', { name: 'Choose all shown' }).click();
      await page.getByRole('button', { name: 'Disable', exact: true }).click();
      await inDialog('Apply 2 changes').click();
      await page.getByText('2 changes applied').waitFor();
      const keys = await customer.client.list('/keys');
      expect(keys.map(({ status }) => status)).toEqual(['disabled', 'disabled']);
      await stage.tollgate.admin.createModel({
        name: 'shelved',
        price: { price_per_million: '1' },
      });
      await go('/admin/models?q=shelved');
      await page.getByLabel('Choose shelved').check();
      await page.getByRole('button', { name: 'Put up for sale' }).click();
      await step('shelved').getByText('is_on_shelf: false → true').waitFor();
      await inDialog('Apply 1 change').click();
      await page.getByText('1 change applied').waitFor();
    },
    STORY_MS,
  );

  test(
    'a group of upstreams is tested, each with its answer',
    async () => {
      const { page, go } = visitor;
      await go('/admin/upstreams');
      await page.getByRole('searchbox').fill('127.0.0.1');
      await page.getByRole('button', { name: 'Test 2 upstreams' }).click();
      await inDialog('Test 2 upstreams').click();
      await dialog()
        .getByText(/^\d of 2 answer$/)
        .waitFor();
      await step('nowhere')
        .getByText(/cannot be reached|required/)
        .waitFor();
    },
    STORY_MS,
  );
});
