import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describeStandings, NodeStanding, readStandings } from './node-standing.ts';

let server: Server;
let url: string;
let state: string;
let nowMs: number;
let standing: NodeStanding;

beforeEach(async () => {
  nowMs = 0;
  server = createServer((_, response) =>
    response.end(JSON.stringify({ ready: state === 'serving', state })),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  url = `http://127.0.0.1:${port}`;
  standing = new NodeStanding(url, () => nowMs);
});
afterEach(() => {
  server.close();
});

async function readAt(ms: number, canRegister = true): Promise<string | null> {
  nowMs = ms;
  return standing.read(canRegister);
}

const BASE_URL = 'http://127.0.0.1:8080';
const SIGN_IN = `  node -p 'require("./.tollgate/start.json").admin.password' | npx tollgate login admin --url ${BASE_URL} --password-stdin\n`;
const RESTORE = '  npm stop && npm start -- --restore-nodes\n';

test.each([
  ['disabled', 'is disabled', `${SIGN_IN}  npx tollgate nodes toggle node-1 --enabled true\n`],
  ['stopped', 'is stopped', `${SIGN_IN}  npx tollgate proxy start --node-id node-1\n`],
  ['removed', 'was deleted', RESTORE],
  ['unregistered', 'was deleted', RESTORE],
])(
  'of a running installation, a node that is %s is named at once with all commands that undo it',
  async (now, says, commands) => {
    state = now;
    const notes = describeStandings(await readStandings([url]), BASE_URL);
    expect(notes).toContain(`node-1 ${says}. `);
    expect(notes.split('\n\n')[1]).toBe(commands);
  },
);

test('nodes that are out of service for different reasons need one login', () => {
  const standings = new Map([
    ['node-1', 'disabled'],
    ['node-2', 'serving'],
    ['node-3', 'stopped'],
    ['node-4', 'deleted'],
  ] as const);
  const notes = describeStandings(standings, BASE_URL);
  expect(notes).toContain('node-1 is disabled, node-3 is stopped, node-4 was deleted. ');
  expect(notes.split('\n\n')[1]).toBe(
    `${SIGN_IN}  npx tollgate nodes toggle node-1 --enabled true\n  npx tollgate proxy start --node-id node-3\n${RESTORE}`,
  );
});

test('of a running installation, a node that serves, starts or does not answer is not mentioned', async () => {
  state = 'serving';
  expect(describeStandings(await readStandings([url]), BASE_URL)).toBe('');
  state = 'starting';
  expect(describeStandings(await readStandings([url, 'http://127.0.0.1:1']), BASE_URL)).toBe('');
});

test.each(['stopped', 'disabled'])(
  'a start waits no longer for a node once an administrator has %s it',
  async (now) => {
    state = 'starting';
    expect(await readAt(0)).toBeNull();
    state = now;
    expect(await readAt(1)).toBe(now);
    // A decision is one before the control plane is ready, too.
    expect(await readAt(2, false)).toBe(now);
  },
);

test('a node that the control plane has removed is waited for one second, not for a registration', async () => {
  state = 'removed';
  // Before the control plane is ready, the decision may be an old one.
  expect(await readAt(0, false)).toBeNull();
  expect(await readAt(10_000)).toBeNull();
  expect(await readAt(11_000)).toBe('deleted');
});

test('a node without a decision is given the time to register itself', async () => {
  state = 'unregistered';
  expect(await readAt(0)).toBeNull();
  expect(await readAt(4_999)).toBeNull();
  state = 'serving';
  expect(await readAt(5_000)).toBe('serving');
});

test('a removal that is revised in time is none', async () => {
  state = 'removed';
  expect(await readAt(0)).toBeNull();
  state = 'starting';
  expect(await readAt(900)).toBeNull();
  state = 'removed';
  expect(await readAt(1_500)).toBeNull();
  state = 'disabled';
  expect(await readAt(1_600)).toBe('disabled');
});
