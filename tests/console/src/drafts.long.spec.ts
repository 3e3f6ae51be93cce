import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createCustomer } from '@tollgate/harness';
import { browser, startStage, WITHOUT, type Stage, type Visitor } from './stage.ts';

const START_MS = 120_000;
const STORY_MS = 120_000;
const SECRET = 'sk-never-kept';

(browser === undefined ? describe.skip : describe)(`what is entered and not sent${WITHOUT}`, () => {
  let stage: Stage;
  let visitor: Visitor;
  let other: { username: string; password: string };

  beforeAll(async () => {
    stage = await startStage();
    const { username, password, id } = await createCustomer(stage.tollgate);
    await stage.tollgate.admin.call('PUT', `/users/${id}`, { role: 'admin' });
    other = { username, password };
    visitor = await stage.open({ credentials: stage.tollgate.adminCredentials });
  }, START_MS);

  afterAll(() => stage?.close());

  const dialog = () => visitor.page.locator('[role=dialog]:not([data-type])');
  const button = (name: string) => visitor.page.getByRole('button', { name, exact: true }).first();
  const openForm = async () => {
    await visitor.go('/admin/upstreams');
    await button('Add upstream').click();
    await dialog().getByLabel('Name', { exact: true }).waitFor();
  };
  const enter = async () => {
    await openForm();
    await dialog().getByLabel('Provider').selectOption('groq');
    await dialog().getByLabel('Name', { exact: true }).fill('kept');
    await dialog().getByLabel('API key').fill(SECRET);
    await dialog().getByText('More settings').click();
    await dialog().getByLabel('Pass ids of files').check();
  };
  const isBack = async () => {
    await dialog().getByText('What you entered before is here again.').waitFor();
    expect(await dialog().getByLabel('Provider').inputValue()).toBe('groq');
    expect(await dialog().getByLabel('Name', { exact: true }).inputValue()).toBe('kept');
    expect(await dialog().getByLabel('Pass ids of files').isChecked()).toBe(true);
    expect(await dialog().getByLabel('API key').inputValue()).toBe('');
  };
  const stored = () => visitor.page.evaluate<string>('JSON.stringify({ ...sessionStorage })');
  const signIn = async ({ username, password }: typeof other) => {
    const { page } = visitor;
    await page.getByLabel('Username').fill(username);
    await page.getByLabel('Password', { exact: true }).fill(password);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1 }).filter({ hasNotText: 'Sign in' }).waitFor();
  };

  test(
    'survives a reload, Back and the end of the session; its secrets are never stored',
    async () => {
      const { page, context } = visitor;
      await enter();
      expect(await stored()).toContain('kept');
      expect(await stored()).not.toContain(SECRET);
      await page.reload();
      await openForm();
      await isBack();
      await visitor.go('/admin/models');
      await page.goBack();
      await openForm();
      await isBack();
      await context.clearCookies();
      await page.reload();
      await page.getByRole('heading', { name: 'Sign in' }).waitFor();
      await signIn(stage.tollgate.adminCredentials);
      await openForm();
      await isBack();
    },
    STORY_MS,
  );

  test(
    'belongs to its account, and is gone once it is discarded, sent or its author has signed out',
    async () => {
      const { page, context } = visitor;
      await enter();
      await context.clearCookies();
      await page.reload();
      await signIn(other);
      await openForm();
      expect(await dialog().getByLabel('Name', { exact: true }).inputValue()).toBe('');
      await context.clearCookies();
      await page.reload();
      await signIn(stage.tollgate.adminCredentials);
      await openForm();
      await isBack();
      await button('Start over').click();
      expect(await dialog().getByLabel('Name', { exact: true }).inputValue()).toBe('');
      await dialog().getByLabel('Name', { exact: true }).fill('again');
      expect(await stored()).toContain('again');
      await dialog().getByRole('button', { name: 'Cancel' }).click();
      expect(await stored()).not.toContain('again');
      await enter();
      expect(await stored()).toContain('kept');
      await page.reload();
      await page.getByRole('button', { name: /^Signed in as/ }).click();
      await page.getByRole('menuitem', { name: 'Sign out', exact: true }).click();
      await page.getByRole('heading', { name: 'Sign in' }).waitFor();
      expect(await stored()).not.toContain('kept');
    },
    STORY_MS,
  );

  test(
    'of one credential does not enter another',
    async () => {
      visitor = await stage.open({ credentials: stage.tollgate.adminCredentials });
      const { page, go } = visitor;
      const { admin, upstreamUrl } = stage.tollgate;
      const id = await admin.createUpstream({
        name: 'of several',
        protocol: 'openai',
        base_url: `${upstreamUrl}/v1`,
        api_key: 'k',
      });
      await admin.call('POST', `/upstreams/${id}/credentials`, { name: 'second', api_key: 'k' });
      const edit = async (name: string) => {
        await page.getByRole('button', { name: `More actions: ${name}` }).click();
        await page.getByRole('menuitem', { name: 'Edit', exact: true }).click();
        await dialog().getByLabel('Weight').waitFor();
      };
      await go(`/admin/upstreams/${id}`);
      await edit('second');
      await dialog().getByLabel('Weight').fill('77');
      expect(await stored()).toContain('77');
      await page.reload();
      await edit('Own');
      expect(await dialog().getByLabel('Weight').inputValue()).toBe('1');
      await dialog().getByRole('button', { name: 'Cancel' }).click();
      await edit('second');
      expect(await dialog().getByLabel('Weight').inputValue()).toBe('77');
    },
    STORY_MS,
  );
});
