import { afterAll, beforeAll, expect, test } from '@jest/globals';
import {
  credentialMark,
  FORMATS,
  hashCredential,
  isReportProven,
  READ_FORMATS,
} from '@tollgate/contracts';
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

test('a node whose credential the fleet does not accept takes no requests, whatever it is wanted to do, until its own is accepted', async () => {
  const state = async (): Promise<string> => await (await fetch(`${node.url}/readyz`)).text();
  const want = (credentials?: string[]): Promise<void> =>
    node.fleet.setDesired('node-test', { state: 'serve', ...(credentials && { credentials }) });
  await want([credentialMark('node-test', hashCredential('of another node'))]);
  await until('it is closed', async () => (await state()).includes('wrong_credential'));
  // A change by an administrator names no credentials; the next look of the control plane does.
  await want();
  await until('a later report', isLaterReport(await reported()));
  expect(await state()).toContain('wrong_credential');
  await want([credentialMark('node-test', hashCredential(NODE_CREDENTIAL))]);
  await until('it serves', async () => !(await state()).includes('wrong_credential'));
});

function isLaterReport(before: { reported_at: number } | undefined): () => Promise<boolean> {
  // The second report after the change was certainly composed after it.
  const sinceMs = (before?.reported_at ?? 0) + 400;
  return async () => ((await reported())?.reported_at ?? 0) > sinceMs;
}
