import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import {
  createControlPlaneMac,
  encryptionKeysOf,
  runningRequestSchema,
  usageFinalSchema,
  type NodeDump,
  type UsageFinal,
} from '@tollgate/contracts';
import { until } from '@tollgate/harness';
import { startLocalUpstream, type LocalUpstream } from '../testing/local-upstream.ts';
import { ACCOUNT_ID, startNodeUnderTest, type NodeUnderTest } from '../testing/node-under-test.ts';

let node: NodeUnderTest;
let silent: LocalUpstream;
let talking: LocalUpstream;

beforeAll(async () => {
  silent = await startLocalUpstream(() => undefined);
  talking = await startLocalUpstream((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const event = (content: string): string =>
      `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', choices: [{ index: 0, delta: { content } }] })}\n\n`;
    response.write(event('one two three four five six seven eight nine ten '));
  });
  node = await startNodeUnderTest({ JSON_DRAIN_MS: '200', STREAM_DRAIN_MS: '200' });
});
afterAll(async () => {
  await node.stop();
  await Promise.all([silent, talking].map((each) => each.close()));
});

async function running(accountId?: number): Promise<NodeDump['rows']> {
  const requestId = randomUUID();
  await node.fleet.announce({
    kind: 'dump',
    node: null,
    request_id: requestId,
    table: 'requests',
    page: 1,
    page_size: 100,
    ...(accountId !== undefined && { account_id: accountId }),
  });
  let dumps: NodeDump[] = [];
  await until('the node has answered', async () => {
    dumps = await node.fleet.readDumps(requestId, [{ name: 'node-test', worker: 0 }]);
    return dumps.length === 1;
  });
  return dumps[0]?.rows ?? [];
}

const mac = () =>
  createControlPlaneMac(
    encryptionKeysOf({ ENCRYPTION_KEY: node.environment['ENCRYPTION_KEY'] ?? '' }),
  );
const end = (rid: string, signed = mac().sign('end-request', [rid])): Promise<void> =>
  node.fleet.announce({ kind: 'end_request', rid, mac: signed });
async function untilRunning(): Promise<NodeDump['rows'][number]> {
  let rows: NodeDump['rows'] = [];
  await until('the request is listed', async () => (rows = await running()).length === 1);
  return rows[0] as NodeDump['rows'][number];
}
async function finalOf(rid: string): Promise<UsageFinal> {
  let final: unknown;
  await until('its final is in the journal', async () => {
    final = await node.journalledFinal(rid).catch(() => undefined);
    return final !== undefined;
  });
  return usageFinalSchema.parse(final);
}
const ask = (model: { name: string }, stream: boolean) =>
  node.post('/v1/chat/completions', {
    model: model.name,
    stream,
    messages: [{ role: 'user', content: 'count to ten' }],
  });

test('a request that runs is listed for its account and for all, without secrets, and is gone when it has ended', async () => {
  const model = await node.addModel([{ baseUrl: silent.baseUrl }]);
  const asked = ask(model, false);
  const { key: rid, value } = await untilRunning();
  expect(runningRequestSchema.parse(value)).toEqual(value);
  expect(value).toMatchObject({
    account_id: ACCOUNT_ID,
    model_id: model.id,
    is_stream: false,
    tokens: 0,
    is_ending: false,
  });
  expect((await running(ACCOUNT_ID)).map(({ key }) => key)).toEqual([rid]);
  expect(await running(ACCOUNT_ID + 1)).toEqual([]);

  // A writer of Redis ends nothing.
  await end(rid, mac().sign('end-request', [randomUUID()]));
  await end(rid, 'forged');
  expect(await untilRunning()).toMatchObject({ value: { is_ending: false } });

  await end(rid);
  const answer = await asked;
  expect(answer.status).toBe(403);
  expect(await answer.json()).toMatchObject({ error: { code: 'request_ended' } });
  expect(answer.headers.get('x-should-retry')).toBe('false');
  const final = await finalOf(rid);
  expect(final).toMatchObject({ outcome: 'access_revoked', status: 403, basis: 'estimated' });
  // Its provider has the prompt, and bills it.
  expect(final.charge).toBeGreaterThan(0);
  await until('nothing runs', async () => (await running()).length === 0);
});

test('a stream that is ended is cut for its client, counts its tokens meanwhile, and is charged what was delivered', async () => {
  const model = await node.addModel([{ baseUrl: talking.baseUrl }]);
  const response = await ask(model, true);
  const reader = response.body?.getReader();
  await reader?.read();
  let row = await untilRunning();
  await until('its tokens are counted', async () => {
    row = await untilRunning();
    return Number(runningRequestSchema.parse(row.value).tokens) > 0;
  });
  await end(row.key);
  await expect(
    (async () => {
      for (let part = await reader?.read(); part && !part.done;) part = await reader?.read();
    })(),
  ).rejects.toThrow();
  const final = await finalOf(row.key);
  expect(final).toMatchObject({ outcome: 'access_revoked', status: 200 });
  expect(final.output_tokens).toBeGreaterThan(0);
  expect(final.charge).toBeGreaterThan(0);
});
