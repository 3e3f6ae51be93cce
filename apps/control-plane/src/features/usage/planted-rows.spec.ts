/** @jest-environment node */
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import type { ControlPlane } from '../../testing/control-plane-under-test.ts';

/** All that a new value needs in code is its row in the table; its columns and constraints come with a migration. */
const PLANTED = {
  name: 'video_output',
  key: 'videoOutput',
  unit: 'token',
  side: 'output',
  isCharged: true,
  parent: 'output',
  isOptional: true,
};
const LIBS = '../../../../../libs';
const TABLES = {
  classes: `${LIBS}/contracts/src/usage/token-classes.ts`,
  outcomes: `${LIBS}/contracts/src/usage/outcomes.ts`,
  upstreams: `${LIBS}/contracts/src/upstream-protocols.ts`,
  alerts: '../alerts/alert-rules.ts',
  refusals: '../../platform/http/refusals.ts',
};
const { TOKEN_CLASSES, OUTCOME_ROWS, OUTCOMES, outcomeRow } = await import('@tollgate/contracts');
const upstreams = (await import(TABLES.upstreams)) as { FURTHER_ENDPOINTS: readonly string[] };
const alerts = await import('../alerts/alert-rules.ts');
const { REFUSALS } = await import('../../platform/http/refusals.ts');
jest.resetModules();
jest.unstable_mockModule(TABLES.classes, () => ({ TOKEN_CLASSES: [...TOKEN_CLASSES, PLANTED] }));
const fell = { name: 'fell', isFailure: true, chargesUnseen: 'never' };
jest.unstable_mockModule(TABLES.outcomes, () => ({
  OUTCOME_ROWS: [...OUTCOME_ROWS, fell],
  OUTCOMES: [...OUTCOMES, 'fell'],
  outcomeRow: (name: string) => (name === 'fell' ? fell : outcomeRow(name as never)),
}));
jest.unstable_mockModule(TABLES.upstreams, () => ({
  ...upstreams,
  FURTHER_ENDPOINTS: [...upstreams.FURTHER_ENDPOINTS, 'images'],
}));
jest.unstable_mockModule(TABLES.alerts, () => ({
  ...alerts,
  ALERT_RULES: { ...alerts.ALERT_RULES, overheated: 'critical' },
}));
jest.unstable_mockModule(TABLES.refusals, () => ({
  REFUSALS: { ...REFUSALS, too_hot: { status: 418, title: 'The server is too hot' } },
}));
const { startControlPlane } = await import('../../testing/control-plane-under-test.ts');
const { ledgerOf, usageEvent } = await import('../../testing/ledger-under-test.ts');
const { AlertsService } = await import('../alerts/alerts.service.ts');
const { ListedAlertsService } = await import('../alerts/listed-alerts.service.ts');
const { Refusal } = await import('../../platform/http/refusal.ts');
const { UsageWorker } = await import('./ingest/usage-worker.ts');
const { USAGE_PERIOD_NAMES, USAGE_PERIODS } =
  await import('../../platform/database/usage-periods.ts');
const { readRoutingRows } = await import('../snapshots/read-routing-rows.sql.ts');
const { compileSnapshot, snapshotDocumentSchema } = await import('@tollgate/snapshot');
const { uuidv7 } = await import('../../platform/http/visitor.ts');

let plane: ControlPlane;
beforeAll(async () => {
  plane = await startControlPlane({}, { isDocumentCompiled: true });
  await plane.administrator.query(`
    ALTER TABLE upstreams DROP CONSTRAINT upstreams_endpoints_check;
    ALTER TABLE price_versions ADD COLUMN weight_video_output bigint;
    ALTER TABLE usage_events ADD COLUMN video_output_tokens bigint;
    ${USAGE_PERIOD_NAMES.map((name) => USAGE_PERIODS[name])
      .flatMap(({ rollups, totals }) => [rollups, totals])
      .map((table) => `ALTER TABLE ${table} ADD COLUMN video_output_tokens bigint`)
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
      weight_video_output: '5',
    },
  });
  expect(price).toMatchObject({ status: 201, body: { weight_video_output: '5' } });
  await plane.call('POST', '/models/subscribe', {
    token: account.token,
    body: { model_id: model.id, tokens: 1_000_000 },
  });
  const subscriptionId: number = (await ledger.subscription(account, model)).id;
  const planted: object = { output_tokens: 4, video_output_tokens: 3 };
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
    class: 'video_output',
    unit: 'token',
    count: 3,
    weight: '5',
    charged: '15',
  });
  expect((await read(`/usage/logs/${unpriced}/receipt`)).charge).toBe(17);
  expect((await read('/usage/statistics')).data).toMatchObject([
    { output_tokens: 8, video_output_tokens: 6, charge: 50 },
  ]);
  expect(await ledger.violations()).toEqual({});
});

test('an outcome planted in the table is booked, counted as an error, found by its filter and documented', async () => {
  const ledger = ledgerOf(plane);
  const [account, model] = [await ledger.account('1000'), await ledger.model('1')];
  await plane.call('POST', '/models/subscribe', {
    token: account.token,
    body: { model_id: model.id, tokens: 1_000 },
  });
  const subscriptionId: number = (await ledger.subscription(account, model)).id;
  const eventOf = (outcome: string) =>
    usageEvent(7, { account, model, subscriptionId, final: { outcome: outcome as never } });
  await plane.app.get(UsageWorker).process([eventOf('fell'), eventOf('completed')]);
  const read = async <Path extends string>(path: Path) =>
    (await plane.call('GET', path, { token: account.token })).body;
  expect((await read('/usage/logs?outcome=fell')).data).toMatchObject([{ outcome: 'fell' }]);
  expect((await read('/usage/statistics')).data).toMatchObject([{ requests: 2, errors: 1 }]);
  expect(JSON.stringify(documented('Outcome'))).toContain('"fell"');
});

test('an alert planted in the table is raised with its severity, counted and documented', async () => {
  const planted: object = { rule: 'overheated', subject: 'node:a', message: 'too hot' };
  await plane.app.get(AlertsService).raise(plane.dataSource.manager, planted as never);
  const { body } = await plane.call('GET', '/admin/alerts?rule=overheated', {
    token: plane.adminToken,
  });
  expect(body.data).toMatchObject([{ rule: 'overheated', severity: 'critical' }]);
  expect(await plane.app.get(AlertsService).countByRule()).toContainEqual(
    expect.objectContaining({ rule: 'overheated', open: 1 }),
  );
  expect(JSON.stringify(documented('AlertRule'))).toContain('"overheated"');
});

test('an error code planted in the table is answered with its status and documented', async () => {
  const list = jest
    .spyOn(plane.app.get(ListedAlertsService), 'list')
    .mockRejectedValue(new Refusal('too_hot' as never));
  const response = await fetch(`${plane.url}/admin-api/admin/alerts`, {
    headers: { authorization: `Bearer ${plane.adminToken}` },
  });
  list.mockRestore();
  expect([response.status, await response.json()]).toMatchObject([
    418,
    { code: 'too_hot', title: 'The server is too hot', type: 'urn:tollgate:problem:too_hot' },
  ]);
  expect(JSON.stringify(documented('ErrorCode'))).toContain('"too_hot"');
});

test('an endpoint planted in the table is set, reaches the snapshot and is documented', async () => {
  const endpoints: object = { endpoints: ['images'] };
  const { status, body } = await plane.call('POST', '/upstreams', {
    token: plane.adminToken,
    body: {
      name: 'painter',
      protocol: 'openai',
      base_url: 'https://api.example.com/v1',
      api_key: 'secret-of-the-provider',
      ...endpoints,
    },
  });
  expect([status, body.endpoints]).toEqual([201, ['images']]);
  const rows = await readRoutingRows(plane.dataSource.manager);
  expect(snapshotDocumentSchema.parse(compileSnapshot(rows)).upstreams).toContainEqual(
    expect.objectContaining(endpoints),
  );
  expect(JSON.stringify(documented('FurtherEndpoint'))).toContain('"images"');
});

function documented(name: string): unknown {
  return plane.documented.document.components?.schemas?.[name];
}
