/** @jest-environment node */
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import type { ControlPlane } from '../../testing/control-plane-under-test.ts';

/** All that a new class needs in code is its row in the table; its columns come with a migration. */
const PLANTED = {
  name: 'image_output',
  key: 'imageOutput',
  unit: 'token',
  side: 'output',
  isCharged: true,
  parent: 'output',
  isOptional: true,
};
const TABLE = '../../../../../libs/contracts/src/usage/token-classes.ts';
const { TOKEN_CLASSES } = await import('@tollgate/contracts');
jest.resetModules();
jest.unstable_mockModule(TABLE, () => ({ TOKEN_CLASSES: [...TOKEN_CLASSES, PLANTED] }));
const { startControlPlane } = await import('../../testing/control-plane-under-test.ts');
const { ledgerOf, usageEvent } = await import('../../testing/ledger-under-test.ts');
const { UsageWorker } = await import('./ingest/usage-worker.ts');
const { USAGE_PERIOD_NAMES, USAGE_PERIODS } =
  await import('../../platform/database/usage-periods.ts');
const { uuidv7 } = await import('../../platform/http/visitor.ts');

let plane: ControlPlane;
beforeAll(async () => {
  plane = await startControlPlane({}, { isDocumentCompiled: true });
  await plane.administrator.query(`
    ALTER TABLE price_versions ADD COLUMN weight_image_output bigint;
    ALTER TABLE usage_events ADD COLUMN image_output_tokens bigint;
    ${USAGE_PERIOD_NAMES.map((name) => USAGE_PERIODS[name])
      .flatMap(({ rollups, totals }) => [rollups, totals])
      .map((table) => `ALTER TABLE ${table} ADD COLUMN image_output_tokens bigint`)
      .join('; ')}`);
  await ledgerOf(plane).initialiseShards();
}, 60_000);
afterAll(() => plane?.stop());

test('a class planted in the table is priced, charged, booked, summed and explained', async () => {
  const ledger = ledgerOf(plane);
  const [account, model] = [await ledger.account('1000'), await ledger.model('1')];
  const price = await plane.call('POST', '/models/pricing', {
    token: plane.adminToken,
    body: {
      model_id: model.id,
      price_per_million: '1',
      weight_output: '2',
      weight_image_output: '5',
    },
  });
  expect(price).toMatchObject({ status: 201, body: { weight_image_output: '5' } });
  await plane.call('POST', '/models/subscribe', {
    token: account.token,
    body: { model_id: model.id, tokens: 1_000_000 },
  });
  const subscriptionId: number = (await ledger.subscription(account, model)).id;
  const planted: object = { output_tokens: 4, image_output_tokens: 3 };
  const eventOf = (rid: string, priceId: number, charge: number) =>
    usageEvent(charge, {
      account,
      model: { ...model, priceId },
      subscriptionId,
      rid,
      final: { ...planted, input_tokens: 10, charge },
    });
  const [priced, unpriced] = [uuidv7(Date.now()), uuidv7(Date.now())];
  await plane.app.get(UsageWorker).process([
    eventOf(priced, price.body.id, 10 + 4 * 2 + 3 * 5),
    // The first price of the model has no weight for it: the weight of output holds.
    eventOf(unpriced, model.priceId, 10 + 4 + 3),
  ]);

  const read = async <Path extends string>(path: Path) =>
    (await plane.call('GET', path, { token: account.token })).body;
  expect((await read(`/usage/logs/${priced}/receipt`)).lines).toContainEqual({
    class: 'image_output',
    unit: 'token',
    count: 3,
    weight: '5',
    charged: '15',
  });
  expect((await read(`/usage/logs/${unpriced}/receipt`)).charge).toBe(17);
  expect((await read('/usage/statistics')).data).toMatchObject([
    { output_tokens: 8, image_output_tokens: 6, charge: 50 },
  ]);
  expect(await ledger.violations()).toEqual({});
});
