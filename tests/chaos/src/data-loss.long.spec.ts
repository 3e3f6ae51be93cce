import {
  auditBooks,
  closeClient,
  compareUsage,
  readDemoRecord,
  isSound,
  readUsage,
  sendRequest,
  type ClientRecord,
  type RequestPlan,
  type Target,
  SHORT_CHAT,
} from '@tollgate/audit';
import {
  createRoutedModel,
  startTollgate,
  type RoutedModel,
  type Tollgate,
  until,
} from '@tollgate/harness';
import { openRedis, primariesOf, redisReady } from '@tollgate/keyspace';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createTarget } from './create-target.ts';

const LONG: RequestPlan = { ...SHORT_CHAT, isStream: true, tokens: 60, delayMs: 40 };
const REFUSED_WITHIN_MS = 1_000;
const BACK_WITHIN_MS = 30_000;

let tollgate: Tollgate;
let model: RoutedModel;
beforeAll(async () => {
  tollgate = await startTollgate({ nodes: 2 });
  model = await createRoutedModel(tollgate);
}, 120_000);
afterAll(async () => {
  closeClient();
  await tollgate?.stop();
}, 60_000);

const targetFor = (tokens: number): Promise<Target> => createTarget(tollgate, { model, tokens });

async function onPrimaries<T>(
  act: (primary: ReturnType<typeof primariesOf>[number]) => Promise<T>,
): Promise<T[]> {
  const redis = openRedis(tollgate.redisUrl, {
    role: 'plain',
    name: 'spec',
    onError: () => undefined,
  });
  await redisReady(redis, 5_000);
  try {
    return await Promise.all(primariesOf(redis).map(act));
  } finally {
    redis.disconnect();
  }
}

const flushAll = (): Promise<unknown> => onPrimaries((primary) => primary.flushall());

/** Resolves with the records, each with the milliseconds from the call to its end. */
async function untilServed(target: Target): Promise<(ClientRecord & { afterMs: number })[]> {
  const startedAt = performance.now();
  const records: (ClientRecord & { afterMs: number })[] = [];
  await until(
    'a request is served again',
    async () => {
      const record = await sendRequest(SHORT_CHAT, target);
      records.push({ ...record, afterMs: performance.now() - startedAt });
      return record.ending === 'completed';
    },
    BACK_WITHIN_MS,
  );
  return records;
}

/** So many answers have begun at the upstream: their requests hold tokens. */
async function untilStreaming(count: number): Promise<void> {
  await until('the streams have begun', async () => {
    const record = await readDemoRecord(tollgate.upstreamUrl);
    return (
      record.filter(({ ending, emitted }) => ending === 'open' && emitted > 0).length === count
    );
  });
}

async function problemsOf(clients: readonly ClientRecord[]): Promise<unknown> {
  const provider = await readDemoRecord(tollgate.upstreamUrl);
  const books = await auditBooks(tollgate, { drainMs: 30_000 });
  const findings = [
    ...compareUsage({
      clients,
      provider,
      usage: await readUsage(tollgate.databaseUrl),
      wereKilled: false,
    }),
    ...books,
  ];
  return isSound(findings) ? [] : findings.filter(({ problems }) => problems.length > 0);
}

test('a Redis that loses everything is noticed at once, filled again, and nothing that ran meanwhile is lost or charged twice', async () => {
  const target = await targetFor(100_000);
  const before = await Promise.all(
    Array.from({ length: 20 }, () => sendRequest(SHORT_CHAT, target)),
  );
  const running = [target, { ...target, origin: tollgate.nodeUrls[1] ?? '' }].map((each) =>
    sendRequest(LONG, each),
  );
  await untilStreaming(2);
  await flushAll();
  const after = await untilServed(target);
  const refused = after.slice(0, -1);
  expect(refused[0]?.afterMs).toBeLessThan(REFUSED_WITHIN_MS);
  expect(refused.every(({ status }) => status === 503)).toBe(true);
  const streams = await Promise.all(running);
  expect(streams.map(({ ending }) => ending)).toEqual(['completed', 'completed']);
  // Finals that Redis seemed to have are asked for again and handed over once the node learns of the loss.
  const clients = [...before, ...after, ...streams];
  const expected = clients.filter(({ ending }) => ending === 'completed').length;
  await until(
    'every completed request is booked',
    async () => (await readUsage(tollgate.databaseUrl)).size >= expected,
    BACK_WITHIN_MS,
  );
  expect(await problemsOf(clients)).toEqual([]);
}, 90_000);

test('what a running stream holds cannot be spent by others at any moment after a Redis that lost everything is filled again', async () => {
  // All of it is held.
  const target = await targetFor(150);
  const running = sendRequest({ ...LONG, tokens: 190, delayMs: 100 }, target);
  await untilStreaming(1);
  await flushAll();
  // The other node knows nothing of the stream. It asks without a pause, until it is no longer refused for the loss.
  const elsewhere = { ...target, origin: tollgate.nodeUrls[1] ?? '' };
  const others: ClientRecord[] = [];
  await until(
    'the other node is not refused for the loss',
    async () =>
      others.push(await sendRequest(SHORT_CHAT, elsewhere)) && others.at(-1)?.status !== 503,
    BACK_WITHIN_MS,
  );
  for (let further = 0; further < 5; further += 1)
    others.push(await sendRequest(SHORT_CHAT, target));
  const answers = others.filter(({ status }) => status !== 503);
  expect(answers.map(({ ending, status }) => [ending, status])).toEqual(
    answers.map(() => ['refused', 429]),
  );
  const stream = await running;
  expect(stream.ending).toBe('completed');
  expect(await problemsOf(others)).toEqual([]);
}, 90_000);

test('a stream whose balance is used up ends as if it had met its limit, charged to the last token and not beyond', async () => {
  const target = await targetFor(150);
  const record = await sendRequest({ ...LONG, tokens: 190, delayMs: 5 }, target);
  expect(record.ending).toBe('completed');
  const row = await until('the stream is booked', async () =>
    (await readUsage(tollgate.databaseUrl)).get(record.rid ?? ''),
  );
  expect(row.delta).toBeLessThanOrEqual(150);
  expect(row.delta).toBeGreaterThan(100);
  expect(await problemsOf([])).toEqual([]);
}, 60_000);

test('twenty streams of an upstream that sends as fast as it can use a balance up together and overdraw it by nothing', async () => {
  const balance = 200_000;
  const before = await readUsage(tollgate.databaseUrl);
  const { origin, apiKey, model: name } = await targetFor(balance);
  const body = JSON.stringify({
    model: name,
    stream: true,
    max_tokens: 100_000,
    messages: [{ role: 'user', content: '@demo tokens=100000 delay=0' }],
  });
  const ask = async (): Promise<string> =>
    (
      await fetch(`${origin}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${apiKey}` },
        body,
      })
    ).text();
  const texts = await Promise.all(Array.from({ length: 20 }, ask));
  expect(texts.filter((text) => text.endsWith('data: [DONE]\n\n')).length).toBe(20);
  const rows = async (): Promise<{ delta: number }[]> =>
    [...(await readUsage(tollgate.databaseUrl))]
      .filter(([rid]) => !before.has(rid))
      .map(([, row]) => row);
  await until('every stream is booked', async () => (await rows()).length >= 20, BACK_WITHIN_MS);
  const charged = (await rows()).reduce((sum, { delta }) => sum + delta, 0);
  expect(charged).toBeLessThanOrEqual(balance);
  expect(charged).toBeGreaterThan(0.9 * balance);
  expect(await problemsOf([])).toEqual([]);
}, 90_000);
