import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { AdminClient } from '../admin-client.ts';
import { ROOT } from '../checkout.ts';
import { ADMIN_USERNAME } from './apps.ts';
import { describeStandings, readStandings } from './node-standing.ts';
import { Progress } from './progress.ts';
import { drawSecrets } from './secrets.ts';
import { startStack, type Stack } from './stack.ts';
import { writeStartFile } from './start-file.ts';
import { eventually } from '../testing/waiting.ts';

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

/** Makes a folder that is to the shell what the checkout of this installation is. */
function checkoutOf({ baseUrl, adminUrl, proxyUrls, upstreamUrl }: Stack): string {
  const folder = path.join(stateFolder, 'checkout');
  mkdirSync(folder);
  symlinkSync(path.join(ROOT, 'node_modules'), path.join(folder, 'node_modules'));
  symlinkSync(stateFolder, path.join(folder, '.tollgate'));
  const admin = { username: ADMIN_USERNAME, password: secrets.adminPassword };
  const models = { apiKey: '', chatModel: '', embeddingModel: '' };
  writeStartFile(stateFolder, {
    ...{ baseUrl, adminUrl, proxyUrls, upstreamUrl, ...models },
    ...{ admin, user: admin },
  });
  return folder;
}

test('what a start prints about a disabled and a stopped node has them serve when it is pasted', async () => {
  const admin = await begin();
  const ids = new Map((await admin.list('/proxy-nodes')).map(({ name, id }) => [name, id]));
  await admin.call('POST', `/proxy-nodes/${String(ids.get('node-1'))}/toggle`, { enabled: false });
  await admin.call('POST', `/proxy/stop?node_id=${String(ids.get('node-2'))}`);
  await stack?.stop();
  await begin();
  const { baseUrl, proxyUrls } = stack as Stack;
  const [said, commands = ''] = describeStandings(stack?.standings ?? new Map(), baseUrl).split(
    '\n\n',
  );
  expect(said).toContain('node-1 is disabled, node-2 is stopped');

  const env = { ...process.env, XDG_CONFIG_HOME: stateFolder };
  await promisify(execFile)('sh', ['-e', '-c', commands], { cwd: checkoutOf(stack as Stack), env });
  const serving = new Map(proxyUrls.map((_, index) => [`node-${index + 1}`, 'serving']));
  await eventually(async () => expect(await readStandings(proxyUrls)).toEqual(serving));
}, 120_000);
