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

test.each([
  ['disabled', 'node-1 is disabled. Enable it: '],
  ['stopped', 'node-1 is stopped. Start it: '],
  ['removed', 'node-1 was deleted. Bring it back: '],
  ['unregistered', 'node-1 was deleted. Bring it back: '],
])(
  'of a running installation, a node that is %s is named at once with how to undo it',
  async (now, says) => {
    state = now;
    const notes = describeStandings(await readStandings([url]));
    expect(notes).toEqual([expect.stringContaining(says)]);
  },
);

test('of a running installation, a node that serves, starts or does not answer is not mentioned', async () => {
  state = 'serving';
  expect(describeStandings(await readStandings([url]))).toEqual([]);
  state = 'starting';
  expect(describeStandings(await readStandings([url, 'http://127.0.0.1:1']))).toEqual([]);
});

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
