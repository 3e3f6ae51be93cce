import { afterAll, beforeAll, expect, test } from '@jest/globals';
import {
  startTraceCollector,
  type CollectedSpan,
  type TraceCollector,
  until,
} from '@tollgate/harness';
import { randomBytes } from 'node:crypto';
import { readTraceparent } from '@tollgate/contracts';
import { pino } from 'pino';
import { startLocalUpstream, type LocalUpstream } from '../testing/local-upstream.ts';
import { startNodeUnderTest, type NodeUnderTest } from '../testing/node-under-test.ts';

/** These are values of `SpanKind` and `StatusCode` of OTLP. */
const [INTERNAL, SERVER, CLIENT] = [1, 2, 3];
const ERROR = 2;
const PROMPT = 'a prompt that stays here';
const ANSWER = 'an answer that stays here';
const STAGES = ['authenticate', 'parse', 'admit', 'answer', 'journal', 'settle'];

let collector: TraceCollector;
let node: NodeUnderTest;
let good: LocalUpstream;
let bad: LocalUpstream;
const lines: Record<string, unknown>[] = [];

beforeAll(async () => {
  collector = await startTraceCollector();
  good = await startLocalUpstream((response) => {
    const body = {
      id: 'c1',
      object: 'chat.completion',
      created: 1,
      model: 'real',
      choices: [
        { index: 0, message: { role: 'assistant', content: ANSWER }, finish_reason: 'stop' },
      ],
      usage: { prompt_tokens: 11, completion_tokens: 5, total_tokens: 16 },
    };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  bad = await startLocalUpstream((response) => response.writeHead(500).end('{}'));
  const log = pino({ level: 'debug' }, { write: (line) => void lines.push(JSON.parse(line)) });
  node = await startNodeUnderTest(
    {
      TRACES_URL: collector.url,
      TRACES_HEADERS: 'x-collector=a secret of its own',
      TRACES_RATIO: '0',
      TRACES_FOLLOW_CALLER: 'true',
      ACCESS_LOG: 'on',
    },
    log,
  );
});
afterAll(async () => {
  await node.stop();
  await Promise.all([good, bad, collector].map((each) => each.close()));
});

const callerOf = (isSampled: boolean) => {
  const traceId = randomBytes(16).toString('hex');
  const traceparent = `00-${traceId}-${'ab'.repeat(8)}-0${isSampled ? 1 : 0}`;
  return { traceId, traceparent };
};
const askOf = (model: { name: string }) => ({
  model: model.name,
  messages: [{ role: 'user', content: PROMPT }],
});
async function chat(
  model: { name: string },
  traceparent: string,
): Promise<{ status: number; rid: string }> {
  const response = await node.post('/v1/chat/completions', askOf(model), { traceparent });
  await response.text();
  return { status: response.status, rid: response.headers.get('x-request-id') ?? '' };
}
const named = (spans: readonly CollectedSpan[], name: string): CollectedSpan | undefined =>
  spans.find((span) => span.name === name);
const lineOf = (rid: string, msg: string): Record<string, unknown> | undefined =>
  lines.find((line) => line['rid'] === rid && line['msg'] === msg);

test('a sampled request is one trace: the caller, the stages, each attempt with its upstream, and the settlement', async () => {
  const model = await node.addModel([
    { baseUrl: bad.baseUrl },
    { baseUrl: good.baseUrl, priority: 1, upstreamModel: 'the-real-one' },
  ]);
  const { traceId, traceparent } = callerOf(true);
  const { rid } = await chat(model, traceparent);
  const attempt = 'chat the-real-one';
  const spans = await collector.spansOf(traceId, [...STAGES, attempt, 'POST /v1/chat/completions']);
  const root = named(spans, 'POST /v1/chat/completions');
  expect(root).toMatchObject({
    parentSpanId: 'ab'.repeat(8),
    kind: SERVER,
    service: 'tollgate-proxy-node',
    attributes: {
      'http.response.status_code': 200,
      'gen_ai.operation.name': 'chat',
      'gen_ai.request.model': model.name,
      'gen_ai.usage.input_tokens': 11,
      'gen_ai.usage.output_tokens': 5,
      'tollgate.request.id': rid,
      'tollgate.outcome': 'completed',
    },
  });
  for (const stage of STAGES.slice(0, -1))
    expect(named(spans, stage)).toMatchObject({ parentSpanId: root?.spanId, kind: INTERNAL });
  expect(named(spans, 'settle')).toMatchObject({ parentSpanId: root?.spanId, kind: CLIENT });
  for (const span of spans) expect(span.endTimeUnixNano >= span.startTimeUnixNano).toBe(true);
  expect(spans.filter(({ kind, status }) => kind === CLIENT && status.code === ERROR)).toEqual([
    expect.objectContaining({
      attributes: expect.objectContaining({
        'error.type': 'server',
        'http.response.status_code': 500,
        'gen_ai.provider.name': 'openai',
      }),
    }),
  ]);
  const passedOn = readTraceparent(good.requests.at(-1)?.incoming.headers['traceparent']);
  expect(passedOn).toEqual({ traceId, spanId: named(spans, attempt)?.spanId, isSampled: true });
  expect(await node.journalledFinal(rid)).toMatchObject({
    traceparent: `00-${traceId}-${root?.spanId}-01`,
  });
  expect(lineOf(rid, 'access')).toMatchObject({ trace_id: traceId, span_id: root?.spanId });
  expect(collector.headers()).toMatchObject({ 'x-collector': 'a secret of its own' });
});

test('a request that is not sampled is exported only when it, or an attempt, fails', async () => {
  const fine = await node.addModel([{ baseUrl: good.baseUrl }]);
  const failing = await node.addModel([{ baseUrl: bad.baseUrl }]);
  const saved = await node.addModel([
    { baseUrl: bad.baseUrl },
    { baseUrl: good.baseUrl, priority: 1 },
  ]);
  const quiet = callerOf(false);
  const { rid } = await chat(fine, quiet.traceparent);
  const failed = callerOf(false);
  const failure = await chat(failing, failed.traceparent);
  const rescued = callerOf(false);
  await chat(saved, rescued.traceparent);

  const spans = await collector.spansOf(failed.traceId, ['POST /v1/chat/completions', 'settle']);
  expect(named(spans, 'POST /v1/chat/completions')).toMatchObject({
    status: { code: ERROR },
    attributes: { 'error.type': 'upstream_failed', 'http.response.status_code': failure.status },
  });
  await collector.spansOf(rescued.traceId, ['POST /v1/chat/completions']);
  // They ended after it: were it to be sent, it would have come.
  expect(collector.spans.filter(({ traceId }) => traceId === quiet.traceId)).toEqual([]);
  expect(await node.journalledFinal(rid)).not.toHaveProperty('traceparent');
  expect(lineOf(failure.rid, 'upstream request failed')).toMatchObject({
    trace_id: failed.traceId,
    span_id: expect.stringMatching(/^[0-9a-f]{16}$/),
    outcome: 'upstream_failed',
  });
  expect(lines.filter((line) => line['rid'] === failure.rid && line['level'] === 40)).toHaveLength(
    1,
  );
});

test('neither traces nor logs have prompts, answers or keys', async () => {
  const model = await node.addModel([{ baseUrl: good.baseUrl }]);
  const { traceId, traceparent } = callerOf(true);
  await chat(model, traceparent);
  await collector.spansOf(traceId, ['settle', 'POST /v1/chat/completions']);
  const all = [...collector.texts, ...lines.map((line) => JSON.stringify(line))].join('\n');
  for (const secret of [PROMPT, ANSWER, node.apiKey]) expect(all).not.toContain(secret);
});

test('the access log has one line a request, in the names of the conventions', async () => {
  const model = await node.addModel([{ baseUrl: good.baseUrl }]);
  const { rid } = await chat(model, callerOf(false).traceparent);
  const refused = await node.post('/v1/chat/completions', { model: 'no-such-model', messages: [] });
  const refusedRid = refused.headers.get('x-request-id') ?? '';
  await until(
    'the refusal is in the access log',
    async () => lineOf(refusedRid, 'access') !== undefined,
  );
  expect(lines.filter((line) => line['rid'] === rid && line['msg'] === 'access')).toEqual([
    expect.objectContaining({
      level: 30,
      'http.request.method': 'POST',
      'http.route': '/v1/chat/completions',
      'http.response.status_code': 200,
      'gen_ai.operation.name': 'chat',
      'gen_ai.request.model': model.name,
      'gen_ai.usage.input_tokens': 11,
      'gen_ai.usage.output_tokens': 5,
      'tollgate.outcome': 'completed',
      duration_ms: expect.any(Number),
    }),
  ]);
  expect(lineOf(refusedRid, 'access')).toMatchObject({
    'http.response.status_code': refused.status,
    'tollgate.refusal': expect.any(String),
  });
});

test('latencies of a traced request have its trace as exemplar', async () => {
  const model = await node.addModel([{ baseUrl: good.baseUrl }]);
  const { traceId, traceparent } = callerOf(true);
  const { rid } = await chat(model, traceparent);
  const response = await fetch(`${node.url}/metrics`, {
    headers: {
      authorization: `Bearer ${node.environment['NODE_CREDENTIAL']}`,
      accept: 'application/openmetrics-text',
    },
  });
  const text = await response.text();
  const exemplar = `request_id="${rid}",trace_id="${traceId}",span_id="`;
  for (const name of [
    'http_server_request_duration_seconds',
    'gen_ai_client_operation_duration_seconds',
  ])
    expect(text.split('\n').some((line) => line.startsWith(name) && line.includes(exemplar))).toBe(
      true,
    );
});
