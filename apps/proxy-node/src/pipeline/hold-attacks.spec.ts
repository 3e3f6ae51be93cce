import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { ServerResponse } from 'node:http';
import { isMembers, parseMembers, READERS, readGreedily } from '../testing/greedy-reader.ts';
import { startLocalUpstream, type LocalUpstream } from '../testing/local-upstream.ts';
import { startNodeUnderTest, type NodeUnderTest } from '../testing/node-under-test.ts';

/** These attacks were measured to deliver far more than was bought, against an upstream that produces all it is allowed. */
const BOUGHT = 4_000;
const PARALLEL = 64;
const PROMPT_TOKENS = 5;
/** Is the upstream's own end where a request sets no limit. */
const UNLIMITED = 8_000;
const PDF_TOKENS = 60_000;

let node: NodeUnderTest;
let chatUpstream: LocalUpstream;
let messagesUpstream: LocalUpstream;
/** Counts the output tokens that left the upstreams. */
let delivered = 0;

beforeAll(async () => {
  node = await startNodeUnderTest();
  chatUpstream = await startLocalUpstream((response, body) =>
    answerGreedily(response, body, 'openai'),
  );
  messagesUpstream = await startLocalUpstream((response, body) =>
    answerGreedily(response, body, 'anthropic'),
  );
});
afterAll(async () => {
  await node.stop();
  await chatUpstream.close();
  await messagesUpstream.close();
});

/** Reads as a Go server of any vendor's words would, and says all it may. */
function answerGreedily(
  response: ServerResponse,
  body: string,
  upstreamProtocol: 'openai' | 'anthropic',
): void {
  const style = READERS[upstreamProtocol].findLast(({ ignoresCase }) => ignoresCase);
  const members = parseMembers(body);
  if (!style || !isMembers(members)) throw new Error('not a request');
  const { limit, choices } = readGreedily(members, style);
  const output = Math.min(limit, UNLIMITED) * choices;
  const prompt = body.includes('application/pdf') ? PDF_TOKENS : PROMPT_TOKENS;
  if (body.includes('"stream":true')) return streamGreedily(response, { output, prompt });
  delivered += output;
  const text = 'word '.repeat(output);
  const answer =
    upstreamProtocol === 'openai'
      ? {
          choices: [
            { index: 0, message: { role: 'assistant', content: text }, finish_reason: 'length' },
          ],
          usage: {
            prompt_tokens: prompt,
            completion_tokens: output,
            total_tokens: prompt + output,
          },
        }
      : {
          type: 'message',
          content: [{ type: 'text', text }],
          usage: { input_tokens: prompt, output_tokens: output },
        };
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
}

function streamGreedily(
  response: ServerResponse,
  { output, prompt }: { output: number; prompt: number },
): void {
  const chunk = (delta: object, finish: string | null, usage: object = {}): string =>
    `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason: finish }], ...usage })}\n\n`;
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(chunk({ role: 'assistant', content: '' }, null));
  for (let sent = 0; sent < output; sent += 1) response.write(chunk({ content: ' word' }, null));
  response.write(
    chunk({}, 'length', {
      usage: { prompt_tokens: prompt, completion_tokens: output, total_tokens: prompt + output },
    }),
  );
  response.end('data: [DONE]\n\n');
}

interface Attack {
  path: string;
  body: (model: string) => object | string;
  protocol?: 'openai' | 'anthropic';
  model?: object;
  times?: number;
}

/** Sends one body many times at once on a small balance; returns the statuses and the remaining balance. */
async function attack({
  path,
  body,
  protocol = 'openai',
  model: change = {},
  times = PARALLEL,
}: Attack) {
  delivered = 0;
  const { baseUrl } = protocol === 'openai' ? chatUpstream : messagesUpstream;
  const model = await node.addModel([{ baseUrl, protocol }], change, BOUGHT);
  const statuses = await Promise.all(
    Array.from({ length: times }, async () => {
      const response = await node.post(path, body(model.name));
      const text = await response.text();
      return { status: response.status, words: text.split('word').length - 1 };
    }),
  );
  return {
    statuses: new Set(statuses.map(({ status }) => status)),
    served: statuses.filter(({ status }) => status === 200).length,
    words: statuses.reduce((sum, { words }) => sum + words, 0),
    balance: await node.settledBalance(model),
  };
}

const HELLO = [{ role: 'user', content: 'hi' }];

describe('64 requests at once on 4,000 tokens (S26a)', () => {
  const FOREIGN: [string, string, object][] = [
    [
      'chat with a limit of responses',
      '/v1/chat/completions',
      { messages: HELLO, max_output_tokens: 1 },
    ],
    ['responses with a limit of chat', '/v1/responses', { input: 'hi', max_tokens: 1 }],
    [
      'chat with a count of completions',
      '/v1/chat/completions',
      { messages: HELLO, max_tokens: 1, best_of: 100 },
    ],
    [
      'chat with a limit in another case',
      '/v1/chat/completions',
      { messages: HELLO, max_tokens: 1, MAX_TOKENS: 8000 },
    ],
    [
      'chat with a count in another case',
      '/v1/chat/completions',
      { messages: HELLO, max_tokens: 1, N: 128 },
    ],
    [
      'chat with a Kelvin sign',
      '/v1/chat/completions',
      { messages: HELLO, max_tokens: 1, 'max_to\u212aens': 8000 },
    ],
    [
      'chat with a limit in an envelope',
      '/v1/chat/completions',
      { messages: HELLO, max_tokens: 1, extra_body: { max_tokens: 8000 } },
    ],
    [
      'messages with a limit of chat',
      '/v1/messages',
      { messages: HELLO, max_tokens: 1, max_completion_tokens: 8000 },
    ],
  ];

  test.each(FOREIGN)('%s: none is served, nothing is charged', async (_name, path, body) => {
    const protocol = path === '/v1/messages' ? 'anthropic' : 'openai';
    expect(await attack({ path, protocol, body: (model) => ({ model, ...body }) })).toEqual({
      statuses: new Set([400]),
      served: 0,
      words: 0,
      balance: BOUGHT,
    });
    expect(delivered).toBe(0);
  });

  test.each<[string, object]>([
    ['without a limit', {}],
    ['with a limit', { max_tokens: 900 }],
    ['with several choices', { max_tokens: 300, n: 3 }],
    [
      'with a thinking budget far above the limit',
      { max_tokens: 900, thinking: { budget_tokens: 900_000 } },
    ],
  ])('chat %s: what is delivered was bought', async (_name, fields) => {
    const { served, balance } = await attack({
      path: '/v1/chat/completions',
      body: (model) => ({ model, messages: HELLO, ...fields }),
    });
    expect(served).toBeGreaterThan(0);
    expect(balance).toBeGreaterThanOrEqual(0);
    expect(delivered).toBe(BOUGHT - balance - served * PROMPT_TOKENS);
  });

  test('streams: what is delivered was bought', async () => {
    const { served, balance, words } = await attack({
      path: '/v1/chat/completions',
      body: (model) => ({ model, messages: HELLO, stream: true }),
      times: 16,
    });
    expect(served).toBeGreaterThan(0);
    expect(balance).toBeGreaterThanOrEqual(0);
    expect(words).toBeLessThanOrEqual(BOUGHT);
  });
});

describe('32 documents at once on 4,000 tokens (S26b)', () => {
  const pdf = (model: string): object => ({
    model,
    max_tokens: 10,
    messages: [
      {
        role: 'user',
        content: [
          {
            type: 'document',
            source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' },
          },
        ],
      },
    ],
  });
  const path = '/v1/messages';

  test('none is served where the context window does not fit the balance', async () => {
    const model = { context_window: 200_000 };
    const { served, balance } = await attack({
      path,
      protocol: 'anthropic',
      body: pdf,
      model,
      times: 32,
    });
    expect([served, balance, delivered]).toEqual([0, BOUGHT, 0]);
  });

  test('none is served, and the setting is named, where nothing bounds them', async () => {
    const { statuses, balance } = await attack({
      path,
      protocol: 'anthropic',
      body: pdf,
      times: 32,
    });
    expect([statuses, balance]).toEqual([new Set([400]), BOUGHT]);
    const refused = await node.post(
      path,
      pdf(
        (await node.addModel([{ baseUrl: messagesUpstream.baseUrl, protocol: 'anthropic' }])).name,
      ),
    );
    expect(await refused.text()).toMatch(/context_window.*unbounded_input_tokens/);
  });

  test('one runs beside no other where the window fits once', async () => {
    const model = await node.addModel(
      [{ baseUrl: messagesUpstream.baseUrl, protocol: 'anthropic' }],
      { context_window: PDF_TOKENS },
      PDF_TOKENS + 1_000,
    );
    const statuses = await Promise.all(
      Array.from({ length: 32 }, async () => (await node.post(path, pdf(model.name))).status),
    );
    expect(statuses.filter((status) => status === 200)).toHaveLength(1);
    expect(await node.settledBalance(model)).toBe(990);
  });
});
