import { describe, expect, test } from '@jest/globals';
import { wordsUpTo } from '@tollgate/demo-upstream';
import { until } from '@tollgate/harness';
import { startLocalUpstream } from '../../../apps/proxy-node/src/testing/local-upstream.ts';
import {
  baseUrl,
  begin,
  BOUGHT,
  call,
  charged,
  eventsOf,
  native,
  node,
  ofProvider,
  readAll,
  record,
  reportedOf,
  shareNode,
  stream,
} from './background-under-test.ts';
import './finished-runs.part.spec.ts';

shareNode();

describe('a response in the background', () => {
  test('is answered at once with a sealed id, retrieved by it, and charged what its provider reports in the end', async () => {
    const model = await native();
    const { status, body, rid } = await begin(model, '@demo tokens=20 delay=60');
    expect(status).toBe(200);
    expect(body).toMatchObject({ status: 'queued', background: true, model: model.name });
    expect(body.id).toMatch(/^resp_tg/);
    const path = `/v1/responses/${body.id}`;
    expect((await call('GET', path)).body.id).toBe(body.id);
    expect(await charged(model)).toBe(reportedOf(rid));
    const whole = await call('GET', path);
    expect(whole.body).toMatchObject({ id: body.id, status: 'completed' });
    expect(whole.body.output[0].content[0].text).toBe(wordsUpTo(20));
    expect(await node.journalledFinal(rid)).toMatchObject({
      outcome: 'completed',
      basis: 'reported',
      output_tokens: 20,
      is_stream: false,
      attempts: [{ status: 200 }],
    });
  });

  test('holds all that it may cost until then, also as a stream', async () => {
    const model = await native();
    const held = async (): Promise<number> =>
      (await node.live.getBalances([{ accountId: 7, modelId: model.id }]))[0]?.held ?? 0;
    await begin(model, '@demo tokens=2 delay=400', { max_output_tokens: 50_000 });
    expect(await held()).toBeGreaterThan(50_000);
    await charged(model);
    const left = new AbortController();
    const response = await stream(model, '@demo tokens=4 delay=300', left.signal);
    expect(await held()).toBeGreaterThan(4_096);
    left.abort();
    await readAll(response);
    await charged(model);
  });

  test('is nothing to another account', async () => {
    const model = await native();
    const { body } = await begin(model, '@demo tokens=2 delay=100');
    const { key } = await node.addAccount(8);
    for (const [method, rest] of [
      ['GET', ''],
      ['GET', '?stream=true'],
      ['POST', '/cancel'],
      ['DELETE', ''],
    ] as const)
      expect(await call(method, `/v1/responses/${body.id}${rest}`, { key })).toMatchObject({
        status: 404,
        body: { error: { code: 'stored_not_found' } },
      });
    await charged(model);
    expect((await call('GET', `/v1/responses/${body.id}`)).body.status).toBe('completed');
  });

  test('that fails before its first word costs nothing; what an upstream does not report is counted', async () => {
    const model = await native();
    const failed = await begin(model, '@demo tokens=8 delay=20 mode=error-mid');
    expect(await charged(model)).toBe(0);
    expect(await node.journalledFinal(failed.rid)).toMatchObject({ outcome: 'upstream_failed' });
    const other = await native();
    const { rid } = await begin(other, '@demo tokens=30 delay=20 mode=no-usage');
    expect(await charged(other)).toBeGreaterThanOrEqual(30);
    expect(await node.journalledFinal(rid)).toMatchObject({
      outcome: 'completed',
      basis: 'estimated',
      output_tokens: 30,
    });
  });
});

describe('a stream of a response in the background', () => {
  test('passes its events, and settles it by the report of its last one', async () => {
    const model = await native();
    const response = await stream(model, '@demo tokens=5 delay=10');
    const rid = response.headers.get('x-request-id') ?? '';
    const { text, isBroken } = await readAll(response);
    const events = eventsOf(text);
    expect(isBroken).toBe(false);
    expect(events.map(({ sequence_number: number }) => number)).toEqual([...events.keys()]);
    expect(events.at(-1)?.type).toBe('response.completed');
    expect(await charged(model)).toBe(reportedOf(rid));
    expect(await node.journalledFinal(rid)).toMatchObject({ is_stream: true, basis: 'reported' });
    expect((await call('DELETE', `/v1/responses/${events[0].response.id}`)).status).toBe(200);
  });

  test('is not ended by a client that hangs up: all of the answer is made, stored and charged', async () => {
    const model = await native();
    const left = new AbortController();
    const response = await stream(model, '@demo tokens=40 delay=20', left.signal);
    const rid = response.headers.get('x-request-id') ?? '';
    const { text } = await readAll(response, (so) => so.includes('.delta') && left.abort());
    const [{ response: begun }] = eventsOf(text.slice(0, text.lastIndexOf('\n\n')));
    expect(await charged(model)).toBe(reportedOf(rid));
    const { body } = await call('GET', `/v1/responses/${begun.id}`);
    expect(body.output[0].content[0].text).toBe(wordsUpTo(40));
    expect(await node.journalledFinal(rid)).toMatchObject({
      outcome: 'completed',
      output_tokens: 40,
    });
  });

  test('that breaks breaks for the client too, which resumes it after the last event it has', async () => {
    const model = await native();
    const response = await stream(model, '@demo tokens=30 delay=20 mode=dies');
    const rid = response.headers.get('x-request-id') ?? '';
    const first = await readAll(response);
    expect(first.isBroken).toBe(true);
    const before = eventsOf(first.text);
    expect(before.some(({ type }) => type === 'response.failed')).toBe(false);
    const { id } = before[0].response;
    const after = before.at(-1)?.sequence_number;
    const resumed = await fetch(
      `${node.url}/v1/responses/${id}?stream=true&starting_after=${after}`,
      { headers: { authorization: `Bearer ${node.apiKey}` } },
    );
    expect(resumed.headers.get('content-type')).toContain('text/event-stream');
    const rest = eventsOf((await readAll(resumed)).text);
    const all = [...before, ...rest];
    expect(all.map(({ sequence_number: number }) => number)).toEqual([...all.keys()]);
    expect(rest.at(-1)).toMatchObject({ type: 'response.completed', response: { id } });
    const deltas = all.filter(({ type }) => type === 'response.output_text.delta');
    expect(deltas.map(({ delta }) => delta).join('')).toBe(wordsUpTo(30));
    expect(record.list(rid)).toHaveLength(1);
    expect(await charged(model)).toBe(reportedOf(rid));
  });
});

describe('a response in the background is ended', () => {
  test('by its client, who pays the prompt and all that was generated by then where the provider reports nothing', async () => {
    const model = await native();
    const { body, rid } = await begin(model, '@demo tokens=500 delay=50 and some more words');
    await until('it has begun to answer', async () => (ofProvider(rid)?.emitted ?? 0) > 0);
    await call('POST', `/v1/responses/${body.id}/cancel`);
    expect(await charged(model)).toBeGreaterThan(5);
    await until(
      'the upstream sees the request aborted',
      async () => ofProvider(rid)?.ending === 'aborted',
    );
    expect(await node.journalledFinal(rid)).toMatchObject({
      outcome: 'client_closed',
      basis: 'estimated',
      output_tokens: ofProvider(rid)?.emitted,
    });
  });

  test('by its deletion, which waits until it is settled', async () => {
    const model = await native();
    const running = await begin(model, '@demo tokens=500 delay=50');
    expect(await call('DELETE', `/v1/responses/${running.body.id}`)).toMatchObject({
      status: 200,
      body: { id: running.body.id, deleted: true },
    });
    expect(await node.journalledFinal(running.rid)).toMatchObject({ outcome: 'client_closed' });
    expect((await call('GET', `/v1/responses/${running.body.id}`)).status).toBe(404);
    // This response has just ended, and was not looked at since.
    const ended = await begin(model, '@demo tokens=3');
    await until('the upstream finishes', async () => ofProvider(ended.rid)?.ending === 'finished');
    expect((await call('DELETE', `/v1/responses/${ended.body.id}`)).status).toBe(200);
    expect(await node.journalledFinal(ended.rid)).toMatchObject({
      outcome: 'completed',
      basis: 'reported',
      output_tokens: 3,
    });
  });

  test('by the loss of its key', async () => {
    const model = await native();
    const { key, hash } = await node.putKey({});
    const { rid } = await begin(model, '@demo tokens=500 delay=50', {}, key);
    await node.live.putKey(
      node.keyRecord({ keyHash: hash, id: 999_999, status: 'disabled', revision: 2 }),
    );
    await charged(model);
    await until(
      'the upstream sees the request aborted',
      async () => ofProvider(rid)?.ending === 'aborted',
    );
    expect(await node.journalledFinal(rid)).toMatchObject({ outcome: 'access_revoked' });
  }, 20_000);

  test('by its age', async () => {
    const model = await native();
    const { rid } = await begin(model, '@demo tokens=1 mode=stalls delay=50');
    await until(
      'the upstream sees the request aborted',
      async () => ofProvider(rid)?.ending === 'aborted',
      20_000,
    );
    await charged(model);
    expect(await node.journalledFinal(rid)).toMatchObject({ outcome: 'upstream_interrupted' });
  }, 40_000);
});

test('an upstream that asks to be left alone is asked again no sooner than it says', async () => {
  const looks: number[] = [];
  const response = { id: 'resp_1', object: 'response', background: true, model: 'm', output: [] };
  const usage = { input_tokens: 7, output_tokens: 5, total_tokens: 12 };
  const upstream = await startLocalUpstream((reply, _, incoming) => {
    if (incoming.method === 'GET') looks.push(Date.now());
    if (looks.length === 1)
      return reply.writeHead(429, { 'retry-after': '2' }).end('{"error":{"message":"slow"}}');
    const now = looks.length === 0 ? { status: 'queued' } : { status: 'completed', usage };
    reply.writeHead(200, { 'content-type': 'application/json' });
    return reply.end(JSON.stringify({ ...response, ...now }));
  });
  try {
    const model = await native(upstream.baseUrl);
    await begin(model, 'hi');
    expect(await charged(model)).toBe(12);
    expect((looks[1] ?? 0) - (looks[0] ?? 0)).toBeGreaterThanOrEqual(1_990);
  } finally {
    await upstream.close();
  }
}, 20_000);

test('a stream that its upstream answers whole has its beginning and ends there: it is no failure, is charged once, and is retrieved by its id', async () => {
  let looks = 0;
  const response = { id: 'resp_1', object: 'response', background: true, model: 'm', output: [] };
  const usage = { input_tokens: 7, output_tokens: 5, total_tokens: 12 };
  const upstream = await startLocalUpstream((reply, _, incoming) => {
    looks += incoming.method === 'GET' ? 1 : 0;
    const now = looks === 0 ? { status: 'queued' } : { status: 'completed', usage };
    reply.writeHead(200, { 'content-type': 'application/json' });
    return reply.end(JSON.stringify({ ...response, ...now }));
  });
  try {
    const model = await native(upstream.baseUrl);
    const { text, isBroken } = await readAll(await stream(model, 'hi'));
    expect(isBroken).toBe(false);
    const events = eventsOf(text);
    expect(events.map(({ type }) => type)).toEqual(['response.created']);
    expect(events[0].response).toMatchObject({ status: 'queued', background: true });
    expect(events[0].response.id).toMatch(/^resp_tg/);
    expect(await charged(model)).toBe(12);
    const whole = await call('GET', `/v1/responses/${events[0].response.id}`);
    expect(whole.body.status).toBe('completed');
    expect(upstream.requests.filter(({ incoming }) => incoming.method === 'POST')).toHaveLength(1);
  } finally {
    await upstream.close();
  }
}, 20_000);

test('an upstream that translates says by name that it has no background', async () => {
  const model = await node.addModel([{ baseUrl }], {}, BOUGHT);
  expect(await begin(model, 'hi')).toMatchObject({
    status: 400,
    body: { error: { code: 'unsupported_parameter', param: 'background' } },
  });
});
