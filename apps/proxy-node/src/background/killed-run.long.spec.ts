import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdir, rename } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { until } from '@tollgate/harness';
import { startLocalUpstream, type LocalUpstream } from '../testing/local-upstream.ts';
import { startNodeUnderTest, type NodeUnderTest } from '../testing/node-under-test.ts';

const PROCESS = join(import.meta.dirname, '../../test/pipeline/killed-node-process.ts');
const TOKENS = 1_000_000;
const USAGE = { input_tokens: 12, output_tokens: 77, total_tokens: 89 };
/** Is the lease of a hold. A process looks at each of its holds every 5 s at the latest. */
const LEASE_MS = 12_000;

let node: NodeUnderTest;
let upstream: LocalUpstream;
/** The provider reports its responses as done when this is true. */
let isDone = false;
let isCancelled = false;
let created = 0;
const calls: string[] = [];

beforeAll(async () => {
  node = await startNodeUnderTest({ HOLD_LEASE_MS: String(LEASE_MS) });
  upstream = await startLocalUpstream((response, body, { method, url }) => {
    calls.push(`${method} ${url}`);
    if (method === 'POST' && url === '/v1/responses') created += 1;
    if (url?.endsWith('/cancel')) isCancelled = true;
    if (url?.endsWith('?stream=true')) return showWords(response);
    const isStream = body.includes('"stream":true');
    const now = isCancelled
      ? { status: 'cancelled', usage: null }
      : isDone
        ? { status: 'completed', usage: USAGE }
        : { status: 'queued', usage: null };
    const base = { id: `resp_${created}`, object: 'response', background: true, output: [] };
    const answer = { ...base, model: 'real', ...now };
    if (!isStream) {
      response.writeHead(200, { 'content-type': 'application/json' });
      return response.end(JSON.stringify(answer));
    }
    // Nothing more comes of it: the stream is as silent as a queue.
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const event = { type: 'response.created', sequence_number: 0, response: answer };
    return response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  });
});
afterAll(async () => {
  await node.stop();
  await upstream.close();
});

/** Is more words than any rate of generation makes in the time that these tests take. */
const WORDS = 20_000;
const ASKED = { input: 'go', background: true, max_output_tokens: WORDS };

/** Sends the events of a response that has not ended; none once it is cancelled. */
function showWords(response: ServerResponse): ServerResponse {
  if (isCancelled)
    return response.writeHead(400).end('{"error":{"message":"it cannot be streamed"}}');
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (let at = 0; at < WORDS; at += 1) {
    const event = { type: 'response.output_text.delta', sequence_number: at + 1, delta: ' word' };
    response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  }
  return response;
}

interface Process {
  child: ChildProcess;
  url: string;
}

/** Starts another node of the same fleet; the journals in its folder survive it. */
async function start(name: string, folder: string): Promise<Process> {
  await node.fleet.setDesired(name, { state: 'serve' });
  const child = fork(PROCESS, {
    env: {
      ...process.env,
      ...node.environment,
      NODE_NAME: name,
      DATA_DIR: join(node.environment['DATA_DIR'] ?? '', folder),
      BACKGROUND_POLL_MS: '1000',
      DRAIN_TIMEOUT_MS: '500',
    },
    execArgv: ['--no-warnings'],
  });
  const [{ port }] = (await once(child, 'message')) as [{ port: number }];
  return { child, url: `http://127.0.0.1:${port}` };
}

async function kill({ child }: Process): Promise<void> {
  const death = once(child, 'exit');
  child.kill('SIGKILL');
  await death;
}

async function stop({ child }: Process): Promise<void> {
  const end = once(child, 'exit');
  child.disconnect();
  await end;
}

/** Begins a response there; resolves once its client has its id. */
async function begin({ url }: Process, model: string, isStream: boolean): Promise<string> {
  isDone = false;
  isCancelled = false;
  const response = await fetch(`${url}/v1/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${node.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ...ASKED, model, stream: isStream }),
  });
  let text = '';
  for await (const chunk of response.body ?? []) {
    text += Buffer.from(chunk).toString('utf8');
    const id = /"id":"(resp_tg[\w-]+)"/.exec(text)?.[1];
    if (id) return id;
  }
  throw new Error(`no id came: ${text}`);
}

const native = () =>
  node.addModel([{ baseUrl: upstream.baseUrl, overrides: { endpoints: ['responses'] } }]);

async function balanceOf({ id: modelId }: { id: number }): Promise<{ held: number; of: number }> {
  const [found] = await node.live.getBalances([{ accountId: 7, modelId }]);
  return { held: found?.held ?? Number.NaN, of: found?.balance ?? Number.NaN };
}

/** It was looked at since. */
async function looked(): Promise<void> {
  const before = calls.length;
  await until('the run is looked at again', async () => calls.length > before + 1, 20_000);
}

describe('a response in the background is charged exactly once, by what its provider reports', () => {
  test.each([
    ['JSON', false],
    ['a stream', true],
  ])(
    'when its node is killed with -9 and started again, twice: %s',
    async (_, isStream) => {
      const folder = `killed-${isStream}`;
      const model = await native();
      let process = await start('node-killed', folder);
      const id = await begin(process, model.name, isStream);
      for (let time = 0; time < 2; time += 1) {
        await kill(process);
        process = await start('node-killed', folder);
        await looked();
        expect(await balanceOf(model)).toEqual({ held: expect.any(Number), of: TOKENS });
        expect((await balanceOf(model)).held).toBeGreaterThan(4_096);
      }
      isDone = true;
      try {
        expect(TOKENS - (await node.settledBalance(model))).toBe(USAGE.total_tokens);
        const seen = await fetch(`${process.url}/v1/responses/${id}`, {
          headers: { authorization: `Bearer ${node.apiKey}` },
        });
        expect(await seen.json()).toMatchObject({ id, status: 'completed' });
        // Killed after it was settled, it is not settled again.
        await kill(process);
        process = await start('node-killed', folder);
        expect(TOKENS - (await node.settledBalance(model))).toBe(USAGE.total_tokens);
      } finally {
        await stop(process);
      }
    },
    120_000,
  );

  test('when its node is stopped in the middle, and another one opens the same folder', async () => {
    const model = await native();
    const first = await start('node-first', 'stopped');
    await begin(first, model.name, false);
    await stop(first);
    const second = await start('node-second', 'stopped');
    try {
      await looked();
      isDone = true;
      expect(TOKENS - (await node.settledBalance(model))).toBe(USAGE.total_tokens);
    } finally {
      await stop(second);
    }
  }, 60_000);

  test('when its node is removed for good, and its journals are moved to a node that goes on', async () => {
    const model = await native();
    const removed = await start('node-removed', 'removed');
    await begin(removed, model.name, false);
    await kill(removed);
    const staying = await start('node-staying', 'staying');
    await stop(staying);
    const data = node.environment['DATA_DIR'] ?? '';
    const journals = join(data, 'removed', 'journals');
    for (const name of await readdir(journals))
      await rename(join(journals, name), join(data, 'staying', 'journals', name));
    const again = await start('node-staying', 'staying');
    try {
      await looked();
      expect((await balanceOf(model)).held).toBeGreaterThan(4_096);
      isDone = true;
      expect(TOKENS - (await node.settledBalance(model))).toBe(USAGE.total_tokens);
      expect(await readdir(join(data, 'staying', 'journals'))).toEqual(['node-staying.0']);
    } finally {
      await stop(again);
    }
  }, 60_000);

  test('when its hold was reaped while no node ran: the charge is a correction', async () => {
    const model = await native();
    const first = await start('node-late', 'late');
    await begin(first, model.name, false);
    await kill(first);
    await until('nothing is held', async () => (await balanceOf(model)).held === 0, 60_000);
    const second = await start('node-late', 'late');
    try {
      await looked();
      isDone = true;
      await until(
        'the charge is booked',
        async () => (await balanceOf(model)).of === TOKENS - USAGE.total_tokens,
        20_000,
      );
    } finally {
      await stop(second);
    }
  }, 120_000);

  test('and is held for as long as it runs: its lease is renewed', async () => {
    const model = await native();
    const process = await start('node-long', 'long');
    try {
      await begin(process, model.name, false);
      const endsAt = Date.now() + 2 * LEASE_MS;
      while (Date.now() < endsAt) {
        expect((await balanceOf(model)).held).toBeGreaterThan(4_096);
        await looked();
      }
      isDone = true;
      expect(TOKENS - (await node.settledBalance(model))).toBe(USAGE.total_tokens);
    } finally {
      await stop(process);
    }
  }, 120_000);
});

/** Reads so many words of it there. */
async function readWords(url: string, id: string): Promise<void> {
  const left = new AbortController();
  const response = await fetch(`${url}/v1/responses/${id}?stream=true`, {
    headers: { authorization: `Bearer ${node.apiKey}` },
    signal: left.signal,
  });
  let text = '';
  for await (const chunk of response.body ?? []) {
    text += Buffer.from(chunk).toString('utf8');
    if (text.includes(`"sequence_number":${WORDS},`)) break;
  }
  left.abort();
}

describe('what was read of a response in the background is charged', () => {
  test.each([
    ['through the node that is killed, and cancelled after its return', true],
    ['through another node, and cancelled there while its own is dead', false],
  ])(
    'when its node is killed with -9: %s',
    async (_, isOwn) => {
      const folder = `read-${isOwn}`;
      const model = await native();
      const first = await start(`node-${folder}`, folder);
      const id = await begin(first, model.name, false);
      await readWords(isOwn ? first.url : node.url, id);
      // Within two ticks a node's journal and the other nodes have everything that the node has shown.
      await looked();
      await kill(first);
      const cancel = async (url: string): Promise<void> => {
        const answer = await fetch(`${url}/v1/responses/${id}/cancel`, {
          method: 'POST',
          headers: { authorization: `Bearer ${node.apiKey}` },
        });
        expect(await answer.json()).toMatchObject({ status: 'cancelled' });
      };
      if (!isOwn) await cancel(node.url);
      const second = await start(`node-${folder}`, folder);
      try {
        if (isOwn) await cancel(second.url);
        expect(TOKENS - (await node.settledBalance(model))).toBeGreaterThanOrEqual(WORDS);
      } finally {
        await stop(second);
      }
    },
    60_000,
  );
});
