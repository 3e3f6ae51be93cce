import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { letPass } from '@tollgate/harness';
import { chunk, event, sse, usage } from '../testing/chat-stream.ts';
import { localUpstreams } from '../testing/local-upstream.ts';
import { startNodeUnderTest, type NodeUnderTest } from '../testing/node-under-test.ts';

const PROCESS = join(import.meta.dirname, '../../test/pipeline/killed-node-process.ts');
const NODE_NAME = 'node-killed';
const TOKENS = 1_000_000;
const USAGE = { prompt_tokens: 12, completion_tokens: 77, total_tokens: 89 };
let node: NodeUnderTest;
const { upstreamOf, closeUpstreams } = localUpstreams();

beforeAll(async () => {
  node = await startNodeUnderTest();
  await node.fleet.setDesired(NODE_NAME, { state: 'serve' });
});
afterAll(async () => {
  await node.stop();
  await closeUpstreams();
});

/** Starts another node of the same fleet, with a journal that survives it. */
async function startProcess(
  environment: Record<string, string>,
): Promise<{ child: ChildProcess; url: string }> {
  const child = fork(PROCESS, {
    env: {
      ...process.env,
      ...node.environment,
      ...environment,
      NODE_NAME,
      DATA_DIR: join(node.environment['DATA_DIR'] ?? '', NODE_NAME),
    },
    execArgv: ['--no-warnings'],
  });
  const [{ port }] = (await once(child, 'message')) as [{ port: number }];
  return { child, url: `http://127.0.0.1:${port}` };
}

/** Returns the part that a client received of a node that is killed by the end of its answer, and the final charge of the account. */
async function servedAndKilled(
  path: string,
  body: { model: string },
  model: Parameters<NodeUnderTest['settledBalance']>[0],
): Promise<{ text: string; charged: number }> {
  const first = await startProcess({ KILL_AT_END: '1' });
  const death = once(first.child, 'exit');
  const response = await fetch(`${first.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${node.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  expect(await death).toEqual([null, 'SIGKILL']);
  const second = await startProcess({});
  try {
    return { text, charged: TOKENS - (await node.settledBalance(model)) };
  } finally {
    const end = once(second.child, 'exit');
    second.child.disconnect();
    await end;
  }
}

describe('a node killed with -9 as the last bytes leave charges exactly what its client got', () => {
  test('of a stream', async () => {
    const upstream = await upstreamOf((response) => {
      sse(response).write(chunk({ role: 'assistant', content: '' }) + chunk({ content: 'one ' }));
      void letPass(30, 'the node reads the last bytes by themselves').then(() =>
        response.end(
          chunk({ content: 'two' }) +
            chunk({}, 'stop') +
            usage(USAGE.prompt_tokens, USAGE.completion_tokens) +
            event('[DONE]'),
        ),
      );
    });
    const model = await node.addModel([{ baseUrl: upstream.baseUrl }]);
    const { text, charged } = await servedAndKilled(
      '/v1/chat/completions',
      { model: model.name, stream: true, messages: [{ role: 'user', content: 'go' }] } as {
        model: string;
      },
      model,
    );
    expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
    expect(charged).toBe(USAGE.total_tokens);
  }, 60_000);

  test('of a stream whose upstream says nothing of usage: the count the client would have been billed for', async () => {
    const upstream = await upstreamOf((response) =>
      sse(response).end(
        chunk({ role: 'assistant', content: '' }) +
          chunk({ content: 'one two three' }, 'stop') +
          event('[DONE]'),
      ),
    );
    const ask = (model: { name: string }) => ({
      model: model.name,
      stream: true,
      messages: [{ role: 'user', content: 'go' }],
    });
    const [calm, killed] = [
      await node.addModel([{ baseUrl: upstream.baseUrl }]),
      await node.addModel([{ baseUrl: upstream.baseUrl }]),
    ];
    await (await node.post('/v1/chat/completions', ask(calm))).text();
    const billed = TOKENS - (await node.settledBalance(calm));
    expect(billed).toBeGreaterThan(3);
    expect(
      (await servedAndKilled('/v1/chat/completions', ask(killed) as { model: string }, killed))
        .charged,
    ).toBe(billed);
  }, 60_000);

  test('of a JSON answer', async () => {
    const answer = {
      id: 'c1',
      object: 'chat.completion',
      created: 1,
      model: 'real',
      choices: [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }],
      usage: USAGE,
    };
    const upstream = await upstreamOf((response) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer)),
    );
    const model = await node.addModel([{ baseUrl: upstream.baseUrl }]);
    const { text, charged } = await servedAndKilled(
      '/v1/chat/completions',
      { model: model.name, messages: [{ role: 'user', content: 'go' }] } as { model: string },
      model,
    );
    expect(JSON.parse(text)).toMatchObject({ usage: USAGE });
    expect(charged).toBe(USAGE.total_tokens);
  }, 60_000);
});
