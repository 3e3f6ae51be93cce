import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { FORMATS, hashCredential, isReportProven, READ_FORMATS } from '@tollgate/contracts';
import { until } from '@tollgate/harness';
import {
  NODE_CREDENTIAL,
  startNodeUnderTest,
  type NodeUnderTest,
} from '../testing/node-under-test.ts';

let node: NodeUnderTest;
beforeAll(async () => {
  node = await startNodeUnderTest();
}, 30_000);
afterAll(() => node?.stop());

const reported = async () => node.report();
const isProven = async (): Promise<boolean> => {
  const report = await reported();
  return report !== undefined && isReportProven(report, hashCredential(NODE_CREDENTIAL));
};

test('a node names the formats it reads, and reports in the first one until it learns that every process reads a newer one', async () => {
  await until('the node reports', async () => (await reported()) !== undefined);
  expect((await reported())?.abilities).toEqual(expect.arrayContaining([...READ_FORMATS]));
  expect(await reported()).not.toHaveProperty('format');
  await node.fleet.setDesired('node-test', { state: 'serve', formats: { report: 2 } });
  await until(
    'the report has the new format',
    async () => (await reported())?.format === FORMATS.report,
  );
  expect(await isProven()).toBe(true);
});

test('and goes back to the first one when an older process comes', async () => {
  await node.fleet.setDesired('node-test', { state: 'serve' });
  await until(
    'the report has the old format',
    async () => (await reported())?.format === undefined,
  );
  expect(await isProven()).toBe(true);
});
