import { afterAll, beforeAll, beforeEach, expect } from '@jest/globals';
import type { ServerResponse } from 'node:http';
import type { SnapshotModel } from '@tollgate/snapshot';
import { letPass } from '@tollgate/harness';
import { event, named } from '../../testing/chat-stream.ts';
import { startLocalUpstream, type LocalUpstream } from '../../testing/local-upstream.ts';
import { startNodeUnderTest, type NodeUnderTest } from '../../testing/node-under-test.ts';

export const USED = 7;
/** Is the number of streams after which the node knows what is slow. */
const SAMPLES = 20;
export const SLOW_MS = 3_000;

type Manner = 'quick' | 'slow' | 'mute' | 'broken' | 'empty' | 'cut' | 'slow and cut';

export let node: NodeUnderTest;
let first: LocalUpstream;
export let second: LocalUpstream;
/** Holds the answers of the first upstream whose connection is open. */
export const unfinished = new Set<ServerResponse>();
export const manners: { first: Manner; second: Manner } = { first: 'quick', second: 'quick' };

const chunk = (delta: object, finish: string | null = null): string =>
  event({
    id: 'c',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'x',
    choices: [{ index: 0, delta, finish_reason: finish }],
  });
const usage = { prompt_tokens: 4, completion_tokens: 3, total_tokens: USED };

/** Returns the beginning of an answer without content, and the rest of it. */
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

async function destroyAfter(response: ServerResponse): Promise<void> {
  await letPass(30, 'the bytes before the reset must have left, or they are lost with it');
  response.destroy();
}

function answer(
  response: ServerResponse,
  {
    manner,
    word,
    url,
    body,
  }: { manner: Manner; word: string; url: string | undefined; body: string },
): void {
  if (manner === 'mute') return;
  if (manner === 'broken') return void response.destroy();
  // A continuation repeats the word that the client has.
  const anchor = /"role":"assistant","content":"(\w+)"/.exec(body)?.[1] ?? '';
  const [beginning, rest] = piecesOf(anchor + word, url?.endsWith('/messages') ?? false);
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(beginning);
  if (manner === 'empty')
    return void letPass(SLOW_MS / 4, 'the hedge is sent first').then(() => response.end());
  const said = rest.slice(0, rest.indexOf('\n\n', rest.indexOf(`"${word}"`)) + 2);
  const cut = (): void => void response.write(said, () => void destroyAfter(response));
  if (manner === 'cut') return cut();
  const finish = manner === 'slow' ? (): void => void response.end(rest) : cut;
  if (manner === 'quick') return void response.end(rest);
  // The upstream is slow, and a client may leave it.
  const timer = setTimeout(finish, SLOW_MS);
  response.on('close', () => clearTimeout(timer));
}

export async function ask(
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

/** Makes a model whose node has seen enough quick streams. */
export async function knownModel(
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

/** Starts a node, and two upstreams that behave as `manners` says; the spec calls it. */
export function shareNode(): void {
  beforeAll(async () => {
    node = await startNodeUnderTest();
    first = await startLocalUpstream((response, body, { url }) => {
      unfinished.add(response);
      response.on('close', () => unfinished.delete(response));
      answer(response, { manner: manners.first, word: 'one', url, body });
    });
    second = await startLocalUpstream((response, body, { url }) =>
      answer(response, { manner: manners.second, word: 'two', url, body }),
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
}
