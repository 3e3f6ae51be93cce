import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  startLocalUpstream,
  type LocalUpstream,
} from '../../../apps/proxy-node/src/testing/local-upstream.ts';
import { startDemoNode, type DemoNode, type SnapshotModel } from './demo-node-under-test.ts';

const BOUGHT = 1_000_000;
const WINDOW = 200_000;
/** Is far below the window, and above what a turn of these threads can use. */
const FEW = 8_000;
const LIMIT = 64;
const LONG = 'word '.repeat(600);
const SEALED = /^msg_tg[\w-]{40,}$/;

let demo: DemoNode;
let model: SnapshotModel;
let other: SnapshotModel;
let stranger: string;
const locals: LocalUpstream[] = [];
beforeAll(async () => {
  demo = await startDemoNode();
  model = await threaded();
  other = await threaded({}, { upstreamOf: model });
  stranger = (await demo.node.addAccount(8, [model])).key;
});
afterAll(async () => {
  await demo?.stop();
  await Promise.all(locals.map((local) => local.close()));
});

const ofDemo = (overrides = {}) => ({
  baseUrl: demo.baseUrl,
  protocol: 'anthropic' as const,
  upstreamModel: 'claude-haiku-4-5',
  overrides,
});
const KEEPS = { endpoints: ['threads' as const] };

/** Makes a model of an upstream that keeps threads. */
function threaded(
  change: Partial<SnapshotModel> = {},
  { tokens = BOUGHT, ...more }: { tokens?: number; upstreamOf?: SnapshotModel } = {},
): Promise<SnapshotModel> {
  return demo.node.addModel(
    [{ ...ofDemo(KEEPS), ...more }],
    { context_window: WINDOW, ...change },
    tokens,
  );
}

async function localUpstream(
  ...args: Parameters<typeof startLocalUpstream>
): Promise<LocalUpstream> {
  const local = await startLocalUpstream(...args);
  locals.push(local);
  return local;
}

interface Turn {
  status: number;
  text: string;
  rid: string;
  /** The message has it; '' for a refusal. */
  id: string;
  error: { type?: string; details?: object };
}

const CREATE = { thread: { type: 'create' } };
const from = ({ id }: { id: string }) => ({
  thread: { type: 'continue', previous_message_id: id },
});

async function say(
  content: string,
  fields: object,
  { of = model, key = demo.node.apiKey }: { of?: SnapshotModel; key?: string } = {},
): Promise<Turn> {
  const body = {
    model: of.name,
    max_tokens: LIMIT,
    messages: [{ role: 'user', content }],
    ...fields,
  };
  const response = await demo.node.post('/v1/messages', body, {
    authorization: `Bearer ${key}`,
    'anthropic-version': '2023-06-01',
    'anthropic-beta': 'message-threads-2026-08-12',
  });
  const text = await response.text();
  const isStream = response.headers.get('content-type')?.includes('event-stream') === true;
  const read = isStream
    ? JSON.parse(/^data: (.*"message_start".*)$/m.exec(text)?.[1] ?? '{}').message
    : JSON.parse(text);
  return {
    status: response.status,
    text,
    rid: response.headers.get('x-request-id') ?? '',
    id: read?.id ?? '',
    error: isStream ? {} : (read.error ?? {}),
  };
}

const attemptsOf = ({ rid }: Turn) => demo.record.list(rid);
const reportedOf = (turn: Turn) => attemptsOf(turn).at(-1)?.reported;
const usedBy = (turn: Turn): number => {
  const { prompt = 0, output = 0 } = reportedOf(turn) ?? {};
  return prompt + output;
};
const finalOf = ({ rid }: Turn) => demo.node.journalledFinal(rid);
const NOT_FOUND = {
  status: 404,
  error: { type: 'not_found_error', details: { error_code: 'thread_not_found' } },
};
const unsupported = (...features: string[]) => ({
  status: 400,
  error: {
    type: 'invalid_request_error',
    details: { error_code: 'thread_unsupported_request', unsupported: features },
  },
});

describe.each([{ stream: false }, { stream: true }])('a thread (%j)', (form) => {
  test('is opened and continued under sealed ids, and each turn pays the whole conversation that its provider reports', async () => {
    const first = await say(`${LONG} @demo tokens=9`, { ...CREATE, ...form });
    expect(first).toMatchObject({ status: 200, id: expect.stringMatching(SEALED) });
    expect(first.text).not.toContain(first.rid.replaceAll('-', '').slice(-24));
    const second = await say('and now @demo tokens=5', { ...from(first), ...form });
    expect(second).toMatchObject({ status: 200, id: expect.stringMatching(SEALED) });
    const third = await say('at last @demo tokens=3', { ...from(second), ...form });
    expect(third.status).toBe(200);
    const prompts = [first, second, third].map((turn) => reportedOf(turn)?.prompt ?? 0);
    expect(prompts[0]).toBeGreaterThan(600);
    expect(prompts[1]).toBeGreaterThan((prompts[0] ?? 0) + 9);
    expect(prompts[2]).toBeGreaterThan((prompts[1] ?? 0) + 5);
    for (const turn of [first, second, third])
      expect(await finalOf(turn)).toMatchObject({
        outcome: 'completed',
        basis: 'reported',
        input_tokens: reportedOf(turn)?.prompt,
        output_tokens: reportedOf(turn)?.output,
      });
  });

  test('is nothing to another account, another model, a key without its model, nor by a native or forged id', async () => {
    const first = await say('@demo tokens=3', { ...CREATE, ...form });
    const native = `msg_${first.rid.replaceAll('-', '').slice(-24)}`;
    const { key: narrow } = await demo.node.putKey({ allowedModels: other.name });
    const before = demo.record.list().length;
    const refused = [
      await say('more', { ...from(first), ...form }, { key: stranger }),
      await say('more', { ...from(first), ...form }, { of: other }),
      await say('more', { ...from(first), ...form }, { of: other, key: narrow }),
      await say('more', { ...from(first), ...form }, { key: narrow }),
      await say('more', { ...from({ id: native }), ...form }),
      await say('more', { ...from({ id: `${first.id.slice(0, -4)}AAAA` }), ...form }),
    ];
    for (const turn of refused) expect(turn).toMatchObject(NOT_FOUND);
    expect(demo.record.list()).toHaveLength(before);
    expect((await say('more', { ...from(first), ...form })).status).toBe(200);
  });

  test('whose upstream fails is answered as lost, so that its client sends all messages', async () => {
    // The route rests then.
    const of = await threaded();
    const first = await say('@demo tokens=3', { ...CREATE, ...form }, { of });
    const failed = await say('@demo mode=503', { ...from(first), ...form }, { of });
    expect(failed).toMatchObject(NOT_FOUND);
    expect(await finalOf(failed)).toMatchObject({ outcome: 'upstream_failed', input_tokens: 0 });
    expect(await demo.node.settledBalance(of)).toBe(BOUGHT - usedBy(first));
  });

  test('holds what its id says of the conversation, and not the window', async () => {
    const small = await threaded({}, { tokens: FEW });
    const first = await say(`${LONG} @demo tokens=9`, { ...CREATE, ...form }, { of: small });
    const second = await say('@demo tokens=5', { ...from(first), ...form }, { of: small });
    expect([first.status, second.status]).toEqual([200, 200]);
    // Its messages alone would fit: what it continues does not.
    const poor = await threaded({}, { tokens: 1_500 });
    const long = await say(`${LONG} @demo tokens=9`, { ...CREATE, ...form }, { of: poor });
    expect(long.status).toBe(200);
    const left = await demo.node.settledBalance(poor);
    expect(left).toBeGreaterThan(700);
    const more = await say(`${LONG} @demo tokens=9`, { ...from(long), ...form }, { of: poor });
    expect(more).toMatchObject(NOT_FOUND);
    expect(await demo.node.settledBalance(poor)).toBe(left);
  });

  test('of an upstream that reports nothing is charged for the conversation too', async () => {
    const first = await say(`${LONG} @demo tokens=3`, { ...CREATE, ...form });
    const silent = await say('@demo tokens=3 mode=no-usage', { ...from(first), ...form });
    expect(silent.status).toBe(200);
    const final = (await finalOf(silent)) as { input_tokens: number; basis: string };
    expect(final.basis).toBe('estimated');
    expect(final.input_tokens).toBeGreaterThan(reportedOf(first)?.prompt ?? Infinity);
    expect(final.input_tokens).toBeLessThan((reportedOf(first)?.prompt ?? 0) + 100);
  });
});

describe('the words of the provider pass', () => {
  test('where the turn was continued already', async () => {
    const first = await say('@demo tokens=3', CREATE);
    expect((await say('one', from(first))).status).toBe(200);
    expect(await say('two', from(first))).toMatchObject({
      status: 400,
      error: { details: { error_code: 'thread_already_continued' } },
    });
  });

  test('where it has lost the thread, in whatever words', async () => {
    const forgetful = await localUpstream((reply, body) => {
      const { thread, stream } = JSON.parse(body);
      const isNew = thread.type === 'create';
      reply.writeHead(isNew ? 200 : 404, { 'content-type': 'application/json' });
      const usage = { input_tokens: 9, output_tokens: 2 };
      const content = [{ type: 'text', text: 'hi' }];
      const whole = { id: 'msg_lost', type: 'message', role: 'assistant', model: 'm' };
      reply.end(
        JSON.stringify(
          isNew
            ? { ...whole, content, stop_reason: 'end_turn', stop_sequence: null, usage }
            : { type: 'error', error: { type: 'not_found_error', message: `no ${stream}` } },
        ),
      );
    });
    const of = await demo.node.addModel([{ ...ofDemo(KEEPS), baseUrl: forgetful.baseUrl }]);
    const first = await say('hi', CREATE, { of });
    expect(first.id).toMatch(SEALED);
    expect(await say('more', from(first), { of })).toMatchObject(NOT_FOUND);
    expect(forgetful.requests.at(-1)?.body).toContain('"previous_message_id":"msg_lost"');
    // The route is as well as before.
    expect((await say('hi', CREATE, { of })).status).toBe(200);
  });
});

describe('a thread is refused in the words on which its client sends the messages', () => {
  test.each([
    [{ tools: [{ type: 'web_search_20250305', name: 'web_search' }] }, 'tools'],
    [{ mcp_servers: [{ type: 'url', url: 'https://x.example', name: 'x' }] }, 'mcp_servers'],
    [{ context_management: { edits: [{ type: 'compact_20260112' }] } }, 'context_management'],
    [{ compaction: { type: 'summarize' } }, 'compaction'],
  ])('where it could use more than its next turn shows: %j', async (fields, feature) => {
    const first = await say('@demo tokens=3', CREATE);
    const before = demo.record.list().length;
    expect(await say('hi', { ...CREATE, ...fields })).toMatchObject(unsupported(feature));
    expect(await say('hi', { ...from(first), ...fields })).toMatchObject(unsupported(feature));
    expect(demo.record.list()).toHaveLength(before);
  });

  test('where no preferred upstream of its model keeps threads', async () => {
    const none = await demo.node.addModel([ofDemo()]);
    const second = await demo.node.addModel([
      { ...ofDemo(), priority: 1 },
      { ...ofDemo(KEEPS), priority: 2 },
    ]);
    const chat = await demo.node.addModel([{ baseUrl: demo.baseUrl }]);
    for (const without of [none, second, chat])
      expect(await say('hi', CREATE, { of: without })).toMatchObject(unsupported('thread'));
    for (const without of [none, chat])
      expect(await say('hi', from({ id: 'msg_1' }), { of: without })).toMatchObject(
        unsupported('thread'),
      );
  });

  test('where its upstream is down and others have none: they serve the messages', async () => {
    const down = await localUpstream((reply) => reply.writeHead(503).end());
    const of = await demo.node.addModel([
      { ...ofDemo(KEEPS), baseUrl: down.baseUrl, priority: 1 },
      { ...ofDemo(), priority: 2 },
    ]);
    expect(await say('hi', CREATE, { of })).toMatchObject(unsupported('thread'));
    expect((await say('hi', {}, { of })).status).toBe(200);
  });
});

test.each([
  [{ thread: { type: 'begin' } }, 'thread.type'],
  [{ thread: 'create' }, 'thread.type'],
  [{ thread: { type: 'continue' } }, 'thread.previous_message_id'],
])('a thread that is none is refused by its field: %j', async (fields, param) => {
  const refused = await say('hi', fields);
  expect(refused.status).toBe(400);
  expect(refused.text).toContain(param);
});

test('an answer of a thread that breaks off is continued nowhere else', async () => {
  const both = [ofDemo(KEEPS), ofDemo(KEEPS)];
  const of = await demo.node.addModel(both, { failover: { continues: true } });
  const content = '@demo mode=error-mid tokens=20';
  const cut = await say(content, { ...CREATE, stream: true }, { of });
  expect(cut.text).toContain('event: error');
  expect(attemptsOf(cut)).toHaveLength(1);
  const unthreaded = await say(content, { stream: true }, { of });
  expect(attemptsOf(unthreaded).length).toBeGreaterThan(1);
});
