import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createRoutedModel, type RoutedModel } from '@tollgate/harness';
import { browser, startStage, WITHOUT, type Stage, type Visitor } from './stage.ts';

/** Every prompt is longer than the tier's threshold. */
const TIER = {
  ...{ weight_input: '2', weight_output: '8' },
  ...{ weight_cache_read: '1', weight_cache_write: '1' },
};
const USERNAME = 'story';
const PASSWORD = 'a sentence to remember';
const START_MS = 120_000;
const STORY_MS = 180_000;

(browser === undefined ? describe.skip : describe)(`the story of a customer${WITHOUT}`, () => {
  let stage: Stage;
  let model: RoutedModel;
  let visitor: Visitor;

  beforeAll(async () => {
    stage = await startStage();
    model = await createRoutedModel(stage.tollgate, {
      name: 'story-model',
      price_per_million: '2',
      weight_output: '4',
      tiers: [{ above_prompt_tokens: 1, weights: TIER }],
    });
    await stage.tollgate.admin.syncAll();
    visitor = await stage.open();
  }, START_MS);

  afterAll(() => stage?.close(), START_MS);

  const call = async (secret: string): Promise<{ status: number; rid: string | null }> => {
    const answer = await fetch(`${stage.address}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: model.name, messages: [{ role: 'user', content: 'Hi' }] }),
    });
    await answer.text();
    return { status: answer.status, rid: answer.headers.get('x-request-id') };
  };

  test(
    'from registration to a refused call, without one reload',
    async () => {
      const { page, complaints } = visitor;
      const button = (name: string) => page.getByRole('button', { name, exact: true });
      // Notices are dialogs too, and have `data-type`.
      const dialog = page.locator('[role=dialog]:not([data-type])');
      const nav = (name: string) =>
        page.getByRole('navigation', { name: 'Navigation' }).getByRole('link', { name });

      // The person registers; the page waits and lets the person in the moment the account is approved.
      await visitor.go('/register');
      await page.getByLabel('Username').fill(USERNAME);
      await page.getByLabel('Password', { exact: true }).fill(PASSWORD);
      await button('Register').click();
      await page.getByText('Waiting for approval').waitFor();
      const userId = await idOf(stage, USERNAME);
      await stage.tollgate.admin.approve(userId);
      await page.getByRole('heading', { name: 'First steps' }).waitFor();

      // The customer recharges the wallet.
      await page.getByRole('link', { name: 'Recharge', exact: true }).click();
      await dialog.getByLabel('Amount').fill('50');
      await button('Pay').click();
      await page.getByText('USD 50.00 is in the wallet').waitFor();

      // The person subscribes: cost and remainder are shown before the button, and are what is booked.
      await nav('Models').click();
      await button('Subscribe').click();
      await dialog.getByText('USD 48.00').waitFor();
      await dialog.getByText('USD 2.00').waitFor();
      await dialog.getByText('above 1 prompt tokens: Input counts 2×, Output counts 8×').waitFor();
      await dialog.getByRole('button', { name: 'Subscribe' }).click();
      await page.getByText('1,000,000 tokens of story-model bought').waitFor();
      expect(await balanceOf(stage, userId)).toBe('48');

      // The person creates a key; the dialog notices its first call.
      await nav('API keys').click();
      await button('Create key').first().click();
      await dialog.getByLabel('Name').fill('first');
      await dialog.getByRole('button', { name: 'Create key' }).click();
      await page.getByText('Waiting for the first call').waitFor();
      const secret = (await page.getByTestId('secret').textContent()) ?? '';
      const first = await call(secret);
      expect(first.status).toBe(200);
      await page.getByText('The first call has arrived').waitFor();

      // Its receipt adds up.
      await page.getByRole('link', { name: 'See the request' }).click();
      await page.getByRole('heading', { name: 'Charge', exact: true }).waitFor();
      expect(page.url()).toBe(`${stage.address}/usage/${first.rid}`);
      const lines = await page
        .getByRole('row')
        .filter({ hasText: /^(Input|Output|Cache)/ })
        .allInnerTexts();
      await page.getByText('Weights of prompts above 1 tokens').waitFor();
      const total = page.getByRole('row').filter({ hasText: 'Tokens charged' });
      expect(lines).toHaveLength(4);
      expect(lastFigure(await total.innerText())).toBe(
        lines.map(lastFigure).reduce((sum, value) => sum + value, 0),
      );

      // Another call appears in the list by itself.
      await nav('Usage').click();
      const rows = page.getByRole('table', { name: 'Requests' }).getByRole('row');
      await rows.nth(1).waitFor();
      const before = await rows.count();
      await call(secret);
      await rows.nth(before).waitFor();

      // The account is frozen: the next call is refused, and the page says why.
      complaints.push(...complaints.splice(0).filter((text) => !isExpected(text)));
      expect(complaints).toEqual([]);
      await stage.tollgate.admin.call('POST', `/users/${userId}/freeze`);
      expect((await call(secret)).status).toBe(403);
      await page.getByRole('heading', { name: 'Sign in' }).waitFor();
      await page.getByLabel('Username').fill(USERNAME);
      await page.getByLabel('Password', { exact: true }).fill(PASSWORD);
      await button('Sign in').click();
      await page.getByText('This account is frozen').waitFor();
    },
    STORY_MS,
  );
});

/** Browsers report every refused request as an error: who is not signed in is refused by design. */
function isExpected(text: string): boolean {
  return /status of (401|403)/.test(text);
}

function lastFigure(row: string): number {
  return Number(row.trim().split(/\s+/).at(-1)?.replaceAll(',', ''));
}

async function idOf({ tollgate }: Stage, username: string): Promise<number> {
  const [user] = await tollgate.admin.list(`/users?q=${username}`);
  return Number(user?.id);
}

async function balanceOf({ tollgate }: Stage, userId: number): Promise<unknown> {
  return Reflect.get(
    Object(await tollgate.admin.call('GET', `/wallet?user_id=${userId}`)),
    'balance',
  );
}
