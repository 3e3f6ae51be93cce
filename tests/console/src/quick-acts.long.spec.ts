import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createRoutedModel, type RoutedModel } from '@tollgate/harness';
import { browser, startStage, WITHOUT, type Stage } from './stage.ts';

const START_MS = 120_000;
const STORY_MS = 60_000;
/** Holds the settings of a price beside its amount, which an act on amounts must not lose. */
const SETTINGS = {
  weight_input: '1',
  weight_output: '4',
  weight_cache_read: '0.1',
  weight_cache_write: '1.25',
  weight_cache_write_1h: '2',
  weight_audio_input: '3',
  weight_audio_output: '6',
  multipliers: { 'service_tier=priority': '1.75', 'server_tools=web_search': '2' },
};

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
    await stage.tollgate.admin.call('POST', '/models/pricing', {
      model_id: models[0]?.id,
      price_per_million: '2',
      ...SETTINGS,
    });
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
      expect(inForce.find(({ model_id: id }) => id === models[0]?.id)).toMatchObject(SETTINGS);
      expect(complaints).toEqual([]);
      await context.close();
    },
    STORY_MS,
  );

  test(
    'a price set on the page of a model keeps the multipliers, which have no field, and the weights',
    async () => {
      const { page, context, go } = await stage.open({
        credentials: stage.tollgate.adminCredentials,
      });
      const [first] = models;
      await go(`/admin/models/${first?.id}`);
      await page.getByRole('button', { name: 'Set price' }).click();
      const dialog = page.locator('[role=dialog]:not([data-type])');
      await dialog.getByLabel('Price per million').fill('3');
      await dialog.getByRole('button', { name: 'Set price' }).click();
      await page.getByText('The price is set').waitFor();
      const [inForce] = await stage.tollgate.admin.list(
        `/models/pricing?in_force=true&model_id=${first?.id}`,
      );
      expect(inForce).toMatchObject({ price_per_million: '3', ...SETTINGS });
      await context.close();
    },
    STORY_MS,
  );

  test(
    'a price that another administrator set meanwhile is not replaced unseen, in either dialog',
    async () => {
      const { page, context, go } = await stage.open({
        credentials: stage.tollgate.adminCredentials,
      });
      const { admin } = stage.tollgate;
      const third = models[2];
      const setElsewhere = (amount: string) =>
        admin.call('POST', '/models/pricing', { model_id: third?.id, price_per_million: amount });
      const amount = async (): Promise<unknown> =>
        (await admin.list(`/models/pricing?in_force=true&model_id=${third?.id}`))[0]
          ?.price_per_million;
      const dialog = page.locator('[role=dialog]:not([data-type])');
      const refused = /Someone else has changed this meanwhile/;

      await go('/admin/models?q=-priced');
      await page.getByRole('button', { name: 'Change prices' }).click();
      await dialog.getByLabel('New price of third-priced').fill('70');
      await setElsewhere('11');
      await dialog.getByRole('button', { name: 'Set 1 price' }).click();
      await dialog.getByText(refused).waitFor();
      expect(await amount()).toBe('11');
      // The row shows what is in force now, so that it can be replaced.
      await dialog.getByText('11.00').waitFor();
      await dialog.getByRole('button', { name: 'Set 1 price' }).click();
      await page.getByText('1 price is set').waitFor();
      expect(await amount()).toBe('70');

      await go(`/admin/models/${third?.id}`);
      await page.getByRole('button', { name: 'Set price' }).click();
      await dialog.getByLabel('Price per million').fill('80');
      await setElsewhere('12');
      await dialog.getByRole('button', { name: 'Set price' }).click();
      await dialog.getByText(refused).waitFor();
      expect(await amount()).toBe('12');
      await context.close();
    },
    STORY_MS,
  );

  test(
    'the list shows the price of a model that is not for sale',
    async () => {
      const { page, context, go } = await stage.open({
        credentials: stage.tollgate.adminCredentials,
      });
      await stage.tollgate.admin.createModel({
        name: 'off-priced',
        price: { price_per_million: '13.5' },
      });
      await go('/admin/models?q=off-priced');
      await page
        .getByRole('row', { name: /off-priced/ })
        .getByText('13.50')
        .waitFor();
      await context.close();
    },
    STORY_MS,
  );

  test(
    'a look-up leads on: of a version who published it and which nodes run it, of an unknown request why it may be missing, of an unknown address the navigation',
    async () => {
      const { page, context, go } = await stage.open({
        credentials: stage.tollgate.adminCredentials,
      });
      const [newest] = await stage.tollgate.admin.list('/snapshots?page_size=1');
      await go(`/admin/snapshots/${Number(newest?.version)}`);
      await page.getByText('In force').waitFor();
      await page.getByText('Automatic').waitFor();
      await page.getByRole('main').getByRole('link', { name: 'node-1' }).waitFor();
      await page.keyboard.press('Control+k');
      await page
        .getByRole('combobox', { name: /Find pages/ })
        .fill('01a2063d-5237-7f02-8bbb-31f5bfa8b664');
      await page.getByText(/No such request is recorded/).waitFor();
      await go('/nowhere');
      await page.getByRole('heading', { name: 'There is nothing at this address' }).waitFor();
      await page.getByRole('navigation', { name: 'Navigation' }).waitFor();
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
