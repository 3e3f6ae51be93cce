import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createRoutedModel, type RoutedModel } from '@tollgate/harness';
import { browser, startStage, WITHOUT, type Stage } from './stage.ts';

const START_MS = 120_000;
const STORY_MS = 60_000;

(browser === undefined ? describe.skip : describe)(`daily acts from a list${WITHOUT}`, () => {
  let stage: Stage;
  let models: RoutedModel[];

  beforeAll(async () => {
    stage = await startStage();
    models = [];
    for (const [name, price] of [
      ['first-priced', '2'],
      ['second-priced', '0.5'],
      ['third-priced', '7'],
    ] as const)
      models.push(await createRoutedModel(stage.tollgate, { name, price_per_million: price }));
    await stage.tollgate.admin.syncAll();
  }, START_MS);

  afterAll(() => stage?.close(), START_MS);

  test(
    'one click in the list of upstreams tests the connection and says what came of it',
    async () => {
      const { page, complaints, context, go } = await stage.open({
        credentials: stage.tollgate.adminCredentials,
      });
      await go('/admin/upstreams');
      await page
        .getByRole('button', { name: /^Test the connection to / })
        .first()
        .click();
      await page
        .getByRole('dialog')
        .getByText(/^Answered in /)
        .waitFor();
      expect(complaints).toEqual([]);
      await context.close();
    },
    STORY_MS,
  );

  test(
    'the prices of several models are multiplied, one typed, one left, and each is in force with its weights',
    async () => {
      const { page, complaints, context, go } = await stage.open({
        credentials: stage.tollgate.adminCredentials,
      });
      await go('/admin/models?q=-priced');
      await page.getByRole('button', { name: 'Change prices' }).click();
      const dialog = page.locator('[role=dialog]:not([data-type])');
      const priceOf = (name: string) => dialog.getByLabel(`New price of ${name}`);
      await dialog.getByLabel('Factor').fill('1.1');
      await dialog.getByRole('button', { name: 'Multiply' }).click();
      expect(await priceOf('first-priced').inputValue()).toBe('2.2');
      await dialog.getByText('+10%').first().waitFor();
      await priceOf('second-priced').fill('0.6');
      await priceOf('third-priced').fill('');
      await dialog.getByRole('button', { name: 'Set 2 prices' }).click();
      await page.getByText('2 prices are set').waitFor();
      const inForce = await stage.tollgate.admin.list(
        '/models/pricing?in_force=true&page_size=100',
      );
      expect(
        models.map(
          (model) => inForce.find(({ model_id: id }) => id === model.id)?.price_per_million,
        ),
      ).toEqual(['2.2', '0.6', '7']);
      expect(complaints).toEqual([]);
      await context.close();
    },
    STORY_MS,
  );

  test(
    'a price that is refused says so in its row, and the others are set',
    async () => {
      const { page, context, go } = await stage.open({
        credentials: stage.tollgate.adminCredentials,
      });
      const [first, second] = models;
      await context.route('**/admin-api/models/pricing', (route) => {
        const isFirst = route.request().postData()?.includes(`"model_id":${first?.id}`) ?? false;
        return isFirst ? route.abort() : route.continue();
      });
      await go('/admin/models?q=-priced');
      await page.getByRole('button', { name: 'Change prices' }).click();
      const dialog = page.locator('[role=dialog]:not([data-type])');
      await dialog.getByLabel('New price of first-priced').fill('9');
      await dialog.getByLabel('New price of second-priced').fill('8');
      await dialog.getByRole('button', { name: 'Set 2 prices' }).click();
      const rowOf = (name: string) => dialog.getByRole('row').filter({ hasText: name });
      await rowOf('second-priced').getByText('Set', { exact: true }).waitFor();
      expect(await rowOf('first-priced').textContent()).not.toContain('Set');
      expect(await dialog.getByLabel('New price of first-priced').inputValue()).toBe('9');
      const [kept] = await stage.tollgate.admin.list(
        `/models/pricing?in_force=true&model_id=${second?.id}`,
      );
      expect(kept?.price_per_million).toBe('8');
      await context.close();
    },
    STORY_MS,
  );
});
