import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import {
  hashCredential,
  incidentsSchema,
  INCIDENTS_MAX,
  isUploadProven,
  issueApiKey,
  type Incidents,
} from '@tollgate/contracts';
import { until } from '@tollgate/harness';
import { closeRedis, IncidentReports, openRedis, type RedisConnection } from '@tollgate/keyspace';
import { startLocalUpstream, type LocalUpstream } from '../testing/local-upstream.ts';
import {
  ACCOUNT_ID,
  NODE_CREDENTIAL,
  startNodeUnderTest,
  UPSTREAM_KEY,
  type NodeUnderTest,
} from '../testing/node-under-test.ts';
import { IncidentLog } from './incident-log.ts';

const NODE = 'node-test:0';
/** Makes an error page that quotes the key and the prompt, with hidden marks. */
const page = (prompt: string): string =>
  `<html><script>alert(1)</script>bad key ${UPSTREAM_KEY}, or Bearer abcdef.ghi\u0000\u202e ${prompt} ${'x'.repeat(3_000)}`;

let node: NodeUnderTest;
let failing: LocalUpstream;
let redis: RedisConnection;
let reports: IncidentReports;

beforeAll(async () => {
  failing = await startLocalUpstream((response, body) =>
    response
      .writeHead(502, { 'content-type': 'text/html' })
      .end(page(body.includes('quoted') ? 'quoted' : '')),
  );
  node = await startNodeUnderTest({ ERROR_EXCERPTS: 'on' });
  redis = openRedis(node.services.redisUrl, {
    role: 'plain',
    name: 'spec',
    onError: () => undefined,
  });
  reports = new IncidentReports(redis);
  // Without a snapshot it refuses all alike.
  await node.addModel([{ baseUrl: failing.baseUrl }]);
});
afterAll(async () => {
  closeRedis(redis);
  await node.stop();
  await failing.close();
});

/** Collects what is reported until `isThere`, and checks the proof of each report. */
async function reported(isThere: (all: Incidents) => boolean): Promise<Incidents> {
  const all: Incidents = { refused: [], counts: [], excerpts: [] };
  await until('the node has reported', async () => {
    for (const upload of await reports.take(10)) {
      expect(upload.node).toBe(NODE);
      const hash = hashCredential(NODE_CREDENTIAL);
      expect(isUploadProven({ ...upload, purpose: 'incidents' }, hash)).toBe(true);
      expect(isUploadProven(upload, hash)).toBe(false);
      const { refused, counts, excerpts } = incidentsSchema.parse(JSON.parse(upload.body));
      all.refused.push(...refused);
      all.counts.push(...counts);
      all.excerpts.push(...excerpts);
    }
    return isThere(all);
  });
  return all;
}

const chat = (model: string, content = 'hi') => ({ model, messages: [{ role: 'user', content }] });
const ridOf = (response: Response): string => response.headers.get('x-request-id') ?? '';

test('a refused request is reported with its id, key, model, status and reason, and so is one whose key was never issued to an account of this node', async () => {
  const unknownModel = await node.post('/v1/chat/completions', chat('no-such\u0000-model'));
  const stranger = issueApiKey(ACCOUNT_ID);
  const unknownKey = await node.post('/v1/chat/completions', chat('any'), {
    authorization: `Bearer ${stranger.key}`,
  });
  const { refused, counts } = await reported(({ refused }) => refused.length >= 2);
  expect(refused).toEqual([
    expect.objectContaining({
      rid: ridOf(unknownModel),
      status: 404,
      code: 'model_not_found',
      model: 'no-such -model',
      message: expect.stringContaining('does not exist or you do not have access to it'),
    }),
    expect.objectContaining({
      rid: ridOf(unknownKey),
      status: 401,
      code: 'invalid_api_key',
      key_hashes: [stranger.hash],
    }),
  ]);
  expect(counts.map(({ code, count }) => [code, count])).toEqual([
    ['model_not_found', 1],
    ['invalid_api_key', 1],
  ]);
});

test("an upstream's error is reported without secrets and hidden marks, at most 1 KB of it, and its request is no refused one", async () => {
  const model = await node.addModel([{ baseUrl: failing.baseUrl }, { baseUrl: failing.baseUrl }]);
  const failed = await node.post('/v1/chat/completions', chat(model.name, 'quoted'));
  expect(failed.status).toBe(502);
  const { refused, excerpts } = await reported(({ excerpts }) => excerpts.length >= 2);
  expect(refused).toEqual([]);
  expect(excerpts.map(({ rid, place, status }) => ({ rid, place, status }))).toEqual(
    [0, 1].map((place) => ({ rid: ridOf(failed), place, status: 502 })),
  );
  const [{ excerpt, account_id: accountId } = { excerpt: '', account_id: 0 }] = excerpts;
  expect(accountId).toBe(ACCOUNT_ID);
  expect(Buffer.byteLength(excerpt)).toBe(excerpt.length);
  expect(excerpt.length).toBeLessThanOrEqual(1_024);
  expect(excerpt).toMatch(
    /^<html><script>alert\(1\)<\/script>bad key \[redacted\], or \[redacted\] +quoted/,
  );
});

test('S14: a key that the end of an excerpt cuts in two shows no part of itself', () => {
  const log = new IncidentLog({ now: () => 0, keepsExcerpts: true });
  const secret = 'short-secret-of-the-operator';
  // Secrets are long, and what stands for them is short: what is read ends within the last one, and all of it fits.
  const body = Buffer.from(`ä ${`${secret} `.repeat(100)}`);
  const attempt = { rid: 'r', accountId: 1, upstreamId: 1, place: 0, status: 500 };
  log.failed({ ...attempt, body, secrets: [secret] });
  const [{ excerpt } = { excerpt: '' }] = log.take()?.excerpts ?? [];
  expect(excerpt).toMatch(/^ä(?: \[redacted\]){60,}$/);
  log.failed({ ...attempt, body: Buffer.from('ä'.repeat(980)), secrets: [] });
  const [{ excerpt: long } = { excerpt: '' }] = log.take()?.excerpts ?? [];
  expect(long).toBe('ä'.repeat(512));
});

test('excerpts are off by default', () => {
  const log = new IncidentLog({ now: () => 0, keepsExcerpts: false });
  log.failed({
    rid: 'r',
    accountId: 1,
    upstreamId: 1,
    place: 0,
    status: 500,
    body: Buffer.from('an error'),
    secrets: [],
  });
  expect(log.take()).toBeNull();
  expect(node.environment['ERROR_EXCERPTS']).toBe('on');
});

const refusal = (rid: string, keyHash: string, code = 'invalid_api_key') => ({
  ...{ rid, code, status: 401, message: 'no', model: null },
  keyHashes: [keyHash],
});
function takeAll(log: IncidentLog): Incidents {
  const all: Incidents = { refused: [], counts: [], excerpts: [] };
  for (let part = log.take(); part; part = log.take()) {
    expect(part.refused.length).toBeLessThanOrEqual(INCIDENTS_MAX.refused);
    expect(part.counts.length).toBeLessThanOrEqual(INCIDENTS_MAX.counts);
    all.refused.push(...part.refused);
    all.counts.push(...part.counts);
  }
  return all;
}

test('a flood of one key is 100 requests a minute and one count; the next minute begins again', () => {
  let now = 60_000;
  const log = new IncidentLog({ now: () => now, keepsExcerpts: false });
  for (let index = 0; index < 100_000; index += 1)
    log.refused(refusal(`r${index}`, 'a'.repeat(64)));
  const { refused, counts } = takeAll(log);
  expect(refused.map(({ rid }) => rid)).toEqual(Array.from({ length: 100 }, (_, at) => `r${at}`));
  expect(counts).toMatchObject([{ minute: 60_000, count: 100_000 }]);
  now = 120_000;
  log.refused(refusal('later', 'a'.repeat(64)));
  expect(takeAll(log)).toMatchObject({
    refused: [{ rid: 'later' }],
    counts: [{ minute: 120_000 }],
  });
});

test('a flood of made-up keys is counted together, and hides no caller whose key is good', () => {
  const log = new IncidentLog({ now: () => 60_000, keepsExcerpts: false });
  for (let index = 0; index < 20_000; index += 1)
    log.refused(refusal(`r${index}`, randomBytes(32).toString('hex')));
  log.refused(refusal('good', 'b'.repeat(64), 'rate_limit_exceeded'));
  const { refused, counts } = takeAll(log);
  expect(refused).toHaveLength(101);
  expect(refused.at(-1)).toMatchObject({ rid: 'good' });
  expect(counts).toHaveLength(102);
  expect(counts.reduce((sum, { count }) => sum + count, 0)).toBe(20_001);
  expect(counts.find(({ key_hashes: keys }) => keys.length === 0)?.count).toBe(19_900);
});
