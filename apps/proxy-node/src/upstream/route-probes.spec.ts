import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { ServerResponse } from 'node:http';
import { parseOutboundPolicy } from '@tollgate/contracts';
import type { ClientProtocol } from '@tollgate/protocols';
import type { SnapshotUpstream } from '@tollgate/snapshot';
import { localUpstreams, type LocalUpstream } from '../testing/local-upstream.ts';
import { RefusedFields } from './refused-fields.ts';
import { RouteProbes, type Probed } from './route-probes.ts';
import { SideCalls } from './side-calls.ts';
import { Ticker } from './ticker.ts';
import { UpstreamPools } from './upstream-pools.ts';

const KEY = 'sk-of-the-upstream';
const REF = { routeId: 3, upstreamId: 2 };
const USAGE = { prompt_tokens: 9, completion_tokens: 1, total_tokens: 10 };
const CHOICE = { index: 0, message: { role: 'assistant', content: 'ok' }, finish_reason: 'length' };
const COMPLETION = JSON.stringify({
  id: 'c',
  object: 'chat.completion',
  choices: [CHOICE],
  usage: USAGE,
});

const { upstreamOf, closeUpstreams } = localUpstreams();
const pools = new UpstreamPools({
  policy: parseOutboundPolicy('127.0.0.0/8'),
  openSecret: () => KEY,
});
const calls = new SideCalls({ pools, ticker: new Ticker(), answerBytesMax: 10_000 });
let answer: (response: ServerResponse) => unknown;
let upstream: LocalUpstream;
beforeAll(async () => {
  upstream = await upstreamOf((response) => answer(response));
});
afterAll(async () => {
  await pools.close();
  await closeUpstreams();
});

/** Is long enough for an answer on a machine with other work. */
const PATIENT_MS = 10_000;
const SHORT_MS = 300;

const limitedTo = (ms: number) => ({
  first_token_timeout_ms: ms,
  idle_timeout_ms: ms,
  total_timeout_ms: ms,
});

interface Asked {
  protocol?: ClientProtocol;
  change?: Partial<SnapshotUpstream>;
}

async function probe({ protocol = 'chat', change = {} }: Asked = {}) {
  const [probed, lines]: [Probed[], object[]] = [[], []];
  const probes = new RouteProbes({
    calls,
    refused: new RefusedFields(),
    candidateOf: ({ routeId: id, upstreamId }) => ({
      route: {
        id,
        model_id: 1,
        upstream_id: upstreamId,
        upstream_model: 'real',
        priority: 0,
        weight: 1,
        output_limit_field: 'max_tokens',
      },
      upstream: {
        id: upstreamId,
        name: 'u',
        protocol: 'openai',
        base_url: upstream.baseUrl,
        sealed_api_key: 'sealed',
        headers: {},
        connect_timeout_ms: 1_000,
        ...limitedTo(PATIENT_MS),
        max_concurrency: null,
        ...change,
      },
      weight: 1,
    }),
    onProbed: (each) => probed.push(each),
    log: { info: (line: object) => void lines.push(line) },
  });
  return { failure: await probes.probe(REF, protocol), probed, lines };
}

const answers = (status: number, body = COMPLETION, headers: Record<string, string> = {}): void => {
  answer = (response) => response.writeHead(status, headers).end(body);
};
const lastBody = (): unknown => JSON.parse(upstream.requests.at(-1)?.body ?? '{}');

describe('a probe', () => {
  test.each<[ClientProtocol, Asked['change'], string, object]>([
    ['chat', {}, '/v1/chat/completions', { model: 'real', max_tokens: 1 }],
    ['messages', {}, '/v1/chat/completions', { model: 'real', max_tokens: 1 }],
    ['messages', { protocol: 'anthropic' }, '/v1/messages', { model: 'real', max_tokens: 1 }],
    ['chat', { protocol: 'anthropic' }, '/v1/messages', { model: 'real', max_tokens: 1 }],
    ['responses', {}, '/v1/chat/completions', { model: 'real', max_tokens: 1 }],
    [
      'responses',
      { endpoints: ['responses'] },
      '/v1/responses',
      { model: 'real', max_output_tokens: 16, store: false },
    ],
    ['completions', { endpoints: ['completions'] }, '/v1/completions', { max_tokens: 1 }],
    ['embeddings', {}, '/v1/embeddings', { model: 'real', input: 'ok' }],
    ['generate', {}, '/v1/chat/completions', { model: 'real', max_tokens: 1 }],
    [
      'generate',
      { protocol: 'gemini' },
      '/v1/models/real:generateContent',
      { generationConfig: { maxOutputTokens: 1 } },
    ],
    ['embed', {}, '/v1/embeddings', { model: 'real', input: ['ok'] }],
    [
      'embed',
      { protocol: 'gemini' },
      '/v1/models/real:embedContent',
      { content: { parts: [{ text: 'ok' }] } },
    ],
  ])(
    'of %s on %j asks %s for the least output, with the key',
    async (protocol, change, path, body) => {
      answers(200);
      await probe({ protocol, change: { ...change } });
      expect(upstream.requests.at(-1)?.incoming.url).toBe(path);
      expect(lastBody()).toMatchObject(body);
      expect(lastBody()).not.toMatchObject({ stream: true });
      expect(JSON.stringify(upstream.requests.at(-1)?.incoming.headers)).toContain(KEY);
    },
  );

  test('costs the installation what its answer reports, in a line of the log without the key', async () => {
    answers(200);
    const { failure, probed, lines } = await probe();
    expect(failure).toBeNull();
    const cost = { input_tokens: 9, output_tokens: 1 };
    expect(probed).toEqual([{ ...REF, result: 'ok', cost }]);
    expect(lines).toMatchObject([{ upstream_id: 2, route_id: 3, result: 'ok', ...cost }]);
  });

  test.each([400, 413, 422])(
    'that is refused with %s shows that the route works',
    async (status) => {
      answers(status, `{"error":{"message":"no, ${KEY}"}}`);
      const { failure, lines } = await probe();
      expect([failure, JSON.stringify(lines).includes(KEY)]).toEqual([null, false]);
    },
  );

  test.each<[number, string, object]>([
    [500, '{}', { why: 'server' }],
    [404, '{}', { why: 'not_found' }],
    [401, '{}', { why: 'auth', isCertain: true }],
    [307, '', {}],
    [200, '<html>', { why: 'unreadable' }],
    [200, '{"error":{"message":"fell over","type":"server_error"}}', {}],
  ])('that is answered with %s %s shows that the route is down', async (status, body, seen) => {
    answers(status, body, { location: '/elsewhere' });
    expect((await probe()).failure).toMatchObject({ ...seen, isUnreached: false });
  });

  test("that a provider limits brings the provider's own time", async () => {
    answers(429, '{}', { 'retry-after': '30' });
    expect((await probe()).failure).toMatchObject({ why: 'rate_limited', retryAfterMs: 30_000 });
  });

  test('without an answer ends in time and may be billed; one that reaches no server is not', async () => {
    answer = () => undefined;
    const silent = await probe({ change: limitedTo(SHORT_MS) });
    expect(silent.failure).toMatchObject({ why: 'timeout', isUnreached: false });
    expect(silent.probed[0]?.cost.input_tokens).toBeGreaterThan(0);
    const change = { id: 9, base_url: 'http://127.0.0.1:9/v1' };
    const refused = await probe({ change });
    expect(refused.failure).toMatchObject({ why: 'unreachable', isUnreached: true });
    expect(refused.probed[0]?.cost).toEqual({ input_tokens: 0, output_tokens: 0 });
  });

  test('that its protocol has no words for is not sent, and shows nothing', async () => {
    const before = upstream.requests.length;
    const { failure, probed } = await probe({
      protocol: 'embeddings',
      change: { protocol: 'anthropic' },
    });
    expect([failure, probed, upstream.requests.length]).toEqual([null, [], before]);
  });
});
