import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createCustomer, createRoutedModel } from '@tollgate/harness';
import { browser, startStage, WITHOUT, type Stage } from './stage.ts';

const START_MS = 120_000;
const STORY_MS = 60_000;

(browser === undefined ? describe.skip : describe)(`settings of a person${WITHOUT}`, () => {
  let stage: Stage;
  let credentials: { username: string; password: string };

  beforeAll(async () => {
    stage = await startStage();
    const model = await createRoutedModel(stage.tollgate, { name: 'reached' });
    await stage.tollgate.admin.syncAll();
    const { username, password, client } = await createCustomer(stage.tollgate);
    await client.subscribe({ model_id: model.id, tokens: 1_000_000 });
    credentials = { username, password };
  }, START_MS);

  afterAll(() => stage?.close(), START_MS);

  test(
    'sends what the settings of the playground say, and nothing of those that are empty',
    async () => {
      const { page, complaints, go } = await stage.open({ credentials });
      const asked: unknown[] = [];
      page.on('request', (sent) => {
        if (/\/v1\/(chat\/completions|messages)$/.test(sent.url())) asked.push(sent.postDataJSON());
      });
      await go('/playground?model=reached');
      const say = async (): Promise<void> => {
        await page.getByLabel('Message').fill('Hi');
        await page.keyboard.press('Enter');
        await page
          .getByText(/tokens charged/)
          .last()
          .waitFor();
      };
      await say();
      await page.getByRole('button', { name: 'New conversation' }).click();
      await page.getByText('System prompt, temperature and output limit').click();
      await page.getByLabel('System prompt', { exact: true }).fill('Be brief.');
      await page.getByLabel('Temperature').fill('0.3');
      await page.getByLabel('Output tokens at most').fill('77');
      await say();
      await page.getByRole('button', { name: 'New conversation' }).click();
      await page.getByText('Anthropic').click();
      await say();
      const user = { role: 'user', content: 'Hi' };
      const chat = { model: 'reached', stream: true, stream_options: { include_usage: true } };
      expect(asked).toEqual([
        { ...chat, messages: [user], max_completion_tokens: 1024 },
        {
          ...chat,
          messages: [{ role: 'system', content: 'Be brief.' }, user],
          temperature: 0.3,
          max_completion_tokens: 77,
        },
        {
          model: 'reached',
          stream: true,
          messages: [user],
          system: 'Be brief.',
          temperature: 0.3,
          max_tokens: 77,
        },
      ]);
      expect(complaints).toEqual([]);
    },
    STORY_MS,
  );

  test(
    'shows the theme that another tab chose, and ends every session of the account when it is asked to',
    async () => {
      const { page, context, go } = await stage.open({ credentials });
      const elsewhere = await stage.open({ credentials });
      await elsewhere.go('/settings');
      await go('/settings');
      const other = await context.newPage();
      await other.goto(`${stage.address}/settings`);
      await page.getByText('Dark', { exact: true }).click();
      await other.locator('html[data-theme=dark]').waitFor();
      await page.getByRole('button', { name: 'Sign out everywhere' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Sign out everywhere' }).click();
      await page.getByLabel('Username').waitFor();
      await elsewhere.page.reload();
      await elsewhere.page.getByLabel('Username').waitFor();
    },
    STORY_MS,
  );
});
