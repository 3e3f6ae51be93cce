import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { AdminClient } from '../admin-client.ts';
import { ADMIN_USERNAME } from './apps.ts';
import { Progress } from './progress.ts';
import { drawSecrets } from './secrets.ts';
import { startStack, type Stack } from './stack.ts';

let stateFolder: string;
let stack: Stack | undefined;
const secrets = drawSecrets();

beforeEach(() => {
  stateFolder = mkdtempSync(path.join(tmpdir(), 'tollgate-stack-'));
});
afterEach(async () => {
  await stack?.stop();
  rmSync(stateFolder, { recursive: true, force: true });
}, 60_000);

async function begin(settings: { restoresNodes?: boolean } = {}): Promise<AdminClient> {
  const progress = new Progress({ write: () => {} });
  stack = await startStack({ stateFolder, secrets, progress, ...settings });
  return new AdminClient(stack.adminUrl).login(ADMIN_USERNAME, secrets.adminPassword);
}

const standings = (): Record<string, string> => Object.fromEntries(stack?.standings ?? []);

test('starts again after an administrator disabled, stopped or deleted its nodes, and says which', async () => {
  const admin = await begin();
  expect(standings()).toEqual({ 'node-1': 'serving', 'node-2': 'serving' });
  const ids = new Map((await admin.list('/proxy-nodes')).map(({ name, id }) => [name, id]));
  await admin.call('POST', `/proxy-nodes/${String(ids.get('node-1'))}/toggle`, { enabled: false });
  await admin.call('POST', `/proxy/stop?node_id=${String(ids.get('node-2'))}`);
  await stack?.stop();

  const again = await begin();
  expect(standings()).toEqual({ 'node-1': 'disabled', 'node-2': 'stopped' });
  await again.call('DELETE', `/proxy-nodes/${String(ids.get('node-1'))}`);
  await again.call('DELETE', `/proxy-nodes/${String(ids.get('node-2'))}`);
  await stack?.stop();

  await begin();
  expect(standings()).toEqual({ 'node-1': 'deleted', 'node-2': 'deleted' });
  await stack?.stop();

  await begin({ restoresNodes: true });
  expect(standings()).toEqual({ 'node-1': 'serving', 'node-2': 'serving' });
  await stack?.stop();

  await begin();
  expect(standings()).toEqual({ 'node-1': 'serving', 'node-2': 'serving' });
}, 240_000);
