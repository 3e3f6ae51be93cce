import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import {
  createCustomer,
  createRoutedModel,
  eventually,
  findFreePort,
  startTollgate,
  subscribeWithKey,
  type Tollgate,
} from '@tollgate/harness';

/** Every program of examples/ runs against an installation with a front door, as its README says. */
const folder = path.join(import.meta.dirname, '../../../examples');
const run = promisify(execFile);
const SECRET = randomBytes(32).toString('base64url');
const TOKENS = 1_000_000;

let tollgate: Tollgate;
let webhook: ChildProcess;
let heard = '';
let startFile: string;
beforeAll(async () => {
  const port = await findFreePort();
  webhook = spawn(process.execPath, [path.join(folder, 'alert-webhook.mjs')], {
    env: { PORT: String(port), ALERT_WEBHOOK_SECRET: SECRET },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  webhook.stdout?.on('data', (data: Buffer) => (heard += data.toString()));
  tollgate = await startTollgate({
    nodes: 1,
    frontDoor: true,
    env: { ALERT_WEBHOOK_URL: `http://127.0.0.1:${port}`, ALERT_WEBHOOK_SECRET: SECRET },
  });
  const model = await createRoutedModel(tollgate);
  const customer = await createCustomer(tollgate);
  const apiKey = await subscribeWithKey(customer, { modelIds: [model.id], tokens: TOKENS });
  await tollgate.admin.syncAll();
  startFile = path.join(mkdtempSync(path.join(os.tmpdir(), 'tollgate-examples-')), 'start.json');
  const user = { username: customer.username, password: customer.password };
  const content = { baseUrl: tollgate.frontDoorUrl, apiKey, chatModel: model.name, user };
  writeFileSync(startFile, JSON.stringify(content));
}, 90_000);
afterAll(async () => {
  webhook?.kill();
  await tollgate?.stop();
  if (startFile) rmSync(path.dirname(startFile), { recursive: true });
}, 30_000);

const example = async (name: string): Promise<string> =>
  (
    await run(process.execPath, [path.join(folder, name)], {
      env: { PATH: process.env['PATH'] ?? '', TOLLGATE_START: startFile },
      timeout: 30_000,
    })
  ).stdout;

test('the README of examples/ names every program', () => {
  const programs = readdirSync(folder).filter(
    (name) => name.endsWith('.mjs') && name !== 'start-file.mjs',
  );
  const named = [
    ...readFileSync(path.join(folder, 'README.md'), 'utf8').matchAll(/\((\S+\.mjs)\)/g),
  ];
  expect(named.map(([, name]) => name).toSorted()).toEqual(programs.toSorted());
});

test.each(['chat.mjs', 'stream.mjs', 'anthropic.mjs', 'vercel-ai.mjs'])(
  '%s prints an answer and the tokens that it cost',
  async (name) => {
    const before = await balance();
    const [, tokens = '0'] = /\n(\d+) tokens\n$/.exec(await example(name)) ?? [];
    expect(Number(tokens)).toBeGreaterThan(0);
    await eventually(async () => expect(before - (await balance())).toBe(Number(tokens)));
  },
  45_000,
);

test('buy-tokens.mjs adds what it bought to the balance', async () => {
  const before = await balance();
  expect(await example('buy-tokens.mjs')).toContain('1000 of them new');
  expect((await balance()) - before).toBe(1000);
}, 45_000);

test('alert-webhook.mjs prints an alert of the installation, and refuses one with another signature', async () => {
  const { origin } = new URL(/http:\S+/.exec(heard)?.[0] ?? '');
  const forged = {
    'x-tollgate-signature': `t=${Math.floor(Date.now() / 1000)},v1=${'0'.repeat(64)}`,
  };
  const answer = await fetch(origin, { method: 'POST', body: '{}', headers: forged });
  expect(answer.status).toBe(401);
  await tollgate.kill('node-1');
  await eventually(
    async () => expect(heard).toContain('alert.raised: warning node_offline'),
    40_000,
  );
}, 60_000);

async function balance(): Promise<number> {
  const { baseUrl, user } = JSON.parse(readFileSync(startFile, 'utf8')) as {
    baseUrl: string;
    user: { username: string; password: string };
  };
  const login = await fetch(`${baseUrl}/admin-api/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(user),
  });
  const { token } = (await login.json()) as { token: string };
  const mine = await fetch(`${baseUrl}/admin-api/models/my`, {
    headers: { authorization: `Bearer ${token}` },
  });
  const { data } = (await mine.json()) as { data: { tokens: number }[] };
  return data[0]?.tokens ?? 0;
}
