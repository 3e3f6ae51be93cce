import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { credentialMark, hashCredential, isReportProven, READ_FORMATS } from '@tollgate/contracts';
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

test('a node proves its report and names the formats it reads', async () => {
  await until('the node reports', async () => (await reported()) !== undefined);
  expect((await reported())?.abilities).toEqual(expect.arrayContaining([...READ_FORMATS]));
  const report = await reported();
  expect(report && isReportProven(report, hashCredential(NODE_CREDENTIAL))).toBe(true);
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
