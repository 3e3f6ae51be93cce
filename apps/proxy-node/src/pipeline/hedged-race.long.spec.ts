import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { ServerResponse } from 'node:http';
import type { SnapshotModel } from '@tollgate/snapshot';
import { startLocalUpstream, type LocalUpstream } from '../testing/local-upstream.ts';
import { startNodeUnderTest, until, type NodeUnderTest } from '../testing/node-under-test.ts';

const USED = 7;
/** Streams after which the node knows what is slow. */
const SAMPLES = 20;
const SLOW_MS = 3_000;

type Manner = 'quick' | 'slow' | 'mute' | 'broken' | 'empty' | 'cut' | 'slow and cut';

let node: NodeUnderTest;
let first: LocalUpstream;
let second: LocalUpstream;
/** Answers of the first upstream whose connection is open. */
const unfinished = new Set<ServerResponse>();
const manners: { first: Manner; second: Manner } = { first: 'quick', second: 'quick' };

beforeAll(async () => {
  node = await startNodeUnderTest();
  first = await startLocalUpstream((response, _, { url }) => {
    unfinished.add(response);
    response.on('close', () => unfinished.delete(response));
    answer(response, { manner: manners.first, word: 'one', url });
  });
  second = await startLocalUpstream((response, _, { url }) =>
    answer(response, { manner: manners.second, word: 'two', url }),
  );
});
beforeEach(() => {
  manners.first = 'quick';
  manners.second = 'quick';
});
afterAll(async () => {
  await node?.stop();
  await Promise.all([first, second].map((upstream) => upstream?.close()));
});

const event = (data: unknown): string => `data: ${JSON.stringify(data)}\n\n`;
const chunk = (delta: object, finish: string | null = null): string =>
  event({
    id: 'c',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'x',
    choices: [{ index: 0, delta, finish_reason: finish }],
  });
const usage = { prompt_tokens: 4, completion_tokens: 3, total_tokens: USED };

const named = (data: { type: string }): string => `event: ${data.type}\n${event(data)}`;

/** The beginning of an answer without content, and the rest of it. */
function piecesOf(word: string, isMessage: boolean): [string, string] {
  if (!isMessage)
    return [
      chunk({ role: 'assistant', content: '' }),
      `${chunk({ content: word })}${chunk({}, 'stop')}${event({ choices: [], usage, id: 'c', object: 'chat.completion.chunk', created: 1, model: 'x' })}data: [DONE]\n\n`,
    ];
  const message = { id: 'm', type: 'message', role: 'assistant', model: 'x', content: [] };
  const block = { index: 0, content_block: { type: 'text', text: '' } };
  return [
    named({
      type: 'message_start',
      ...{ message: { ...message, usage: { input_tokens: 4, output_tokens: 0 } } },
    }),
    [
      { type: 'content_block_start', ...block },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: word } },
      { type: 'content_block_stop', index: 0 },
      {
        type: 'message_delta',
        delta: { stop_reason: 'end_turn', stop_sequence: null },
        usage: { output_tokens: 3 },
      },
      { type: 'message_stop' },
    ]
      .map(named)
      .join(''),
  ];
}

function answer(
  response: ServerResponse,
  { manner, word, url }: { manner: Manner; word: string; url: string | undefined },
): void {
  if (manner === 'mute') return;
  if (manner === 'broken') return void response.destroy();
  const [beginning, rest] = piecesOf(word, url?.endsWith('/messages') ?? false);
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(beginning);
  if (manner === 'empty') return void setTimeout(() => response.end(), SLOW_MS / 4);
  const said = rest.slice(0, rest.indexOf('\n\n', rest.indexOf(`"${word}"`)) + 2);
  // The bytes before the reset must have left, or they would be lost with it.
  const cut = (): void => void response.write(said, () => setTimeout(() => response.destroy(), 30));
  if (manner === 'cut') return cut();
  const finish = manner === 'slow' ? (): void => void response.end(rest) : cut;
  if (manner === 'quick') return void response.end(rest);
  const timer = setTimeout(finish, SLOW_MS);
  response.on('close', () => clearTimeout(timer));
}

async function ask(
  model: SnapshotModel,
  limits: { max_tokens?: number; n?: number } = {},
  path = '/v1/chat/completions',
): Promise<{ status: number; text: string; rid: string | null; ms: number }> {
  const startedAt = Date.now();
  const response = await node.post(path, {
    model: model.name,
    stream: true,
    messages: [{ role: 'user', content: 'hi' }],
    ...limits,
  });
  const text = await response.text();
  const rid = response.headers.get('x-request-id');
  return { status: response.status, text, rid, ms: Date.now() - startedAt };
}

/** A model whose node has seen enough quick streams. */
async function knownModel(
  maxPercent = 100,
  maxTokens = 1_000_000,
  stopsBilling?: boolean,
  protocol: 'openai' | 'anthropic' = 'openai',
  continues = false,
): Promise<SnapshotModel> {
  const overrides = stopsBilling === undefined ? {} : { stops_billing_on_close: stopsBilling };
  const hedge = { max_percent: maxPercent, max_tokens_per_hour: maxTokens };
  const model = await node.addModel(
    [
      { baseUrl: first.baseUrl, priority: 0, protocol, overrides },
      { baseUrl: second.baseUrl, priority: 1, protocol, overrides },
    ],
    { failover: { hedge, continues } },
  );
  for (let stream = 0; stream < SAMPLES; stream += 1)
    expect((await ask(model)).text).toContain('one');
  return model;
}

describe('a stream that is slower than usual', () => {
  test.each(['slow', 'mute'] as const)(
    '(%s) is answered by a second upstream, which alone is charged',
    async (manner) => {
      const model = await knownModel();
      const before = await node.settledBalance(model);
      manners.first = manner;
      const { text, rid, ms } = await ask(model);
      expect(text).toContain('two');
      expect(text).not.toContain('one');
      expect(text.split('"role":"assistant"')).toHaveLength(2);
      expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
      expect(ms).toBeLessThan(SLOW_MS);
      expect(await node.settledBalance(model)).toBe(before - USED);
      expect(await node.journalledFinal(rid)).toMatchObject({
        outcome: 'completed',
        attempts: [{ error: 'hedge_lost', cost: { output_tokens: 0 } }, { status: 200 }],
      });
      // The loser's connection is closed; it would stay open until its provider spoke.
      await until(() => Promise.resolve(unfinished.size === 0));
    },
  );

  test.each(['openai', 'anthropic'] as const)(
    'is answered so for a messages client too, by upstreams of protocol %s',
    async (protocol) => {
      const model = await knownModel(100, 1_000_000, undefined, protocol);
      const before = await node.settledBalance(model);
      manners.first = 'slow';
      const { text, ms } = await ask(model, { max_tokens: 50 }, '/v1/messages');
      expect(text).toContain('two');
      expect(text).not.toContain('one');
      expect(text.split('event: message_start')).toHaveLength(2);
      expect(text.split('event: message_stop')).toHaveLength(2);
      expect(ms).toBeLessThan(SLOW_MS);
      expect(await node.settledBalance(model)).toBe(before - USED);
    },
  );

  describe.each([
    ['/v1/chat/completions', 'openai'],
    ['/v1/messages', 'anthropic'],
  ] as const)('whose winner breaks off (%s)', (path, protocol) => {
    test('ends with an error, charged for what was delivered', async () => {
      const model = await knownModel(100, 1_000_000, undefined, protocol);
      manners.first = 'slow';
      manners.second = 'cut';
      const { text, rid } = await ask(model, { max_tokens: 50 }, path);
      expect(text).toContain('"two"');
      expect(text).not.toContain('"one"');
      expect(text).toContain('"error"');
      expect(text).not.toMatch(/\[DONE\]|"message_stop"/);
      expect(await node.journalledFinal(rid)).toMatchObject({
        outcome: 'upstream_interrupted',
        output_tokens: 1,
        attempts: [{ error: 'hedge_lost' }, { status: 200 }],
      });
    });

    test('is continued by the slower one where the model allows it', async () => {
      const model = await knownModel(100, 1_000_000, undefined, protocol, true);
      manners.first = 'slow';
      manners.second = 'cut';
      const { text, rid } = await ask(model, { max_tokens: 50 }, path);
      expect(text.indexOf('"two"')).toBeGreaterThan(0);
      expect(text.indexOf('"one"')).toBeGreaterThan(text.indexOf('"two"'));
      expect(text).not.toContain('"error"');
      const final = await node.journalledFinal(rid);
      expect(final).toMatchObject({
        outcome: 'completed',
        attempts: [{ error: 'hedge_lost' }, { error: 'cut' }, { status: 200 }],
      });
    });

    test('is continued by the second upstream when the first had won, and the receipt names the cut one', async () => {
      const model = await knownModel(100, 1_000_000, undefined, protocol, true);
      manners.first = 'slow and cut';
      manners.second = 'mute';
      const asked = second.requests.length;
      const asking = ask(model, { max_tokens: 50 }, path);
      await until(() => Promise.resolve(second.requests.length > asked));
      manners.second = 'quick';
      const { text, rid } = await asking;
      expect(text.indexOf('"two"')).toBeGreaterThan(text.indexOf('"one"'));
      expect(await node.journalledFinal(rid)).toMatchObject({
        outcome: 'completed',
        attempts: [{ error: 'cut' }, { error: 'hedge_lost' }, { status: 200 }],
      });
    });
  });

  test('stays with the first when that one speaks first after all', async () => {
    const model = await knownModel();
    manners.first = 'slow';
    manners.second = 'mute';
    const { text, rid } = await ask(model);
    expect(text).toContain('one');
    expect(await node.journalledFinal(rid)).toMatchObject({
      attempts: [{ status: 200 }, { error: 'hedge_lost' }],
    });
  });

  test('loses neither to a second upstream that fails, nor to one that ends without content', async () => {
    const model = await knownModel();
    manners.first = 'slow';
    for (const manner of ['broken', 'empty'] as const) {
      manners.second = manner;
      expect((await ask(model)).text).toContain('one');
    }
  });

  test('is answered by the second when the first ends without content', async () => {
    const model = await knownModel();
    manners.first = 'empty';
    expect((await ask(model)).text).toContain('two');
  });

  test('fails when both do, free of charge', async () => {
    const model = await knownModel();
    const before = await node.settledBalance(model);
    manners.first = 'empty';
    manners.second = 'broken';
    expect((await ask(model)).status).toBe(502);
    expect(await node.settledBalance(model)).toBe(before);
  });

  test('is waited for beyond the share, or the tokens, that hedges may take', async () => {
    for (const model of [await knownModel(1), await knownModel(100, 1)]) {
      manners.first = 'slow';
      const asked = second.requests.length;
      expect((await ask(model)).text).toContain('one');
      expect(second.requests).toHaveLength(asked);
      manners.first = 'quick';
    }
  });

  test('counts the whole output of the slower one, unless its provider stops billing on close', async () => {
    const prompts = 2_000;
    for (const [stops, answer] of [
      [false, 'one'],
      [true, 'two'],
    ] as const) {
      const model = await knownModel(100, prompts, stops);
      manners.first = 'slow';
      expect((await ask(model)).text).toContain(answer);
      manners.first = 'quick';
    }
  });

  test('counts the output of each choice', async () => {
    const model = await knownModel(100, 2_000, false);
    manners.first = 'slow';
    expect((await ask(model, { max_tokens: 900, n: 3 })).text).toContain('one');
    expect((await ask(model, { max_tokens: 900 })).text).toContain('two');
  });

  test('is closed at both upstreams when the client leaves before either spoke', async () => {
    const model = await knownModel();
    manners.first = 'mute';
    manners.second = 'mute';
    const leaving = new AbortController();
    const asked = second.requests.length;
    const left = fetch(`${node.url}/v1/chat/completions`, {
      method: 'POST',
      signal: leaving.signal,
      headers: { authorization: `Bearer ${node.apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: model.name,
        stream: true,
        messages: [{ role: 'user', content: 'hi' }],
      }),
    }).catch(() => undefined);
    await until(() => Promise.resolve(second.requests.length > asked));
    leaving.abort();
    await left;
    // Nothing is held once both are closed.
    expect(await node.settledBalance(model)).toBeGreaterThan(0);
  });
});
