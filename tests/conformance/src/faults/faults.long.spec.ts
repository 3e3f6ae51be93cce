import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { looseJson, textEvents } from '../event-text.ts';
import { startGateway, TOKENS, type Gateway } from '../gateway.ts';
import { inLanes } from '../in-lanes.ts';
import { usageRows, type UsageRow } from '../usage-rows.ts';
import { FAULTS, SAID } from './fault-table.ts';
import {
  OUTPUT_LIMIT,
  type Charge,
  type Ending,
  type Expected,
  type Fault,
} from './fault-scene.ts';
import { SPEECHES, startFaultyUpstream, type FaultyUpstream } from './faulty-upstream.ts';
import { REPORTED, type Speech } from './wire.ts';

const TIMEOUT_MS = 240_000;
/** The deadlines are short, so that waiting for what never comes takes little (all wait at once), yet longer than a busy machine makes others wait. */
const DEADLINES = {
  connect_timeout_ms: 4_000,
  first_token_timeout_ms: 5_000,
  idle_timeout_ms: 4_000,
  total_timeout_ms: 8_000,
};
/** All wait side by side; a few at a time keep a small machine from missing deadlines of its own. */
const CONCURRENCY = 32;

interface Attempt {
  fault: Fault;
  speech: Speech;
  isStream: boolean;
  model: { id: number; name: string };
}

interface Answer {
  status: number;
  headers: Headers;
  text: string;
  rid: string;
}

let gateway: Gateway;
let upstream: FaultyUpstream;
const answers = new Map<string, Answer>();
let rows: Map<string, UsageRow>;
let balances: Map<number, { tokens: number; held: number }>;
const attempts: Attempt[] = [];

const keyOf = (fault: Fault, speech: Speech, isStream: boolean): string =>
  `${fault.name} ${speech} ${isStream}`;

beforeAll(async () => {
  upstream = await startFaultyUpstream();
  gateway = await startGateway();
  await makeModels();
  await inLanes(attempts, CONCURRENCY, ask);
  rows = await usageRows(
    gateway.tollgate.databaseUrl,
    [...answers.values()].map(({ rid }) => rid),
  );
  balances = await liveBalances();
}, TIMEOUT_MS);
afterAll(async () => {
  await gateway?.stop();
  await upstream?.close();
}, TIMEOUT_MS);

/** Makes a model for each fault and protocol; two where an upstream that said so is rightly left alone for a while. */
async function makeModels(): Promise<void> {
  const wanted = FAULTS.flatMap((fault, at) =>
    SPEECHES.flatMap((speech) =>
      (fault.retryAfter || fault.rests ? [[false], [true]] : [[false, true]]).map((forms) => ({
        fault,
        at,
        speech,
        forms,
      })),
    ),
  );
  const models = await gateway.addModels(
    wanted.map(({ at, speech }) => ({
      url: upstream.urlOf(at, speech),
      protocol: speech,
      settings: DEADLINES,
    })),
  );
  wanted.forEach(({ fault, speech, forms }, at) =>
    forms.forEach((isStream) =>
      attempts.push({ fault, speech, isStream, model: models[at] ?? { id: 0, name: '' } }),
    ),
  );
}

async function ask({ fault, speech, isStream, model }: Attempt): Promise<void> {
  const response = await fetch(
    `${gateway.nodeUrl}/v1/${speech === 'openai' ? 'chat/completions' : 'messages'}`,
    {
      method: 'POST',
      headers: { authorization: `Bearer ${gateway.apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: model.name,
        stream: isStream,
        max_tokens: OUTPUT_LIMIT,
        messages: [{ role: 'user', content: 'Count to five.' }],
      }),
    },
  );
  answers.set(keyOf(fault, speech, isStream), {
    status: response.status,
    headers: response.headers,
    text: await response.text(),
    rid: response.headers.get('x-request-id') ?? '',
  });
}

/** Live balances, once nothing is held any more. */
async function liveBalances(): Promise<Map<number, { tokens: number; held: number }>> {
  const mine: Record<string, unknown>[] = [];
  for (let page = 1; ; page += 1) {
    const more = await gateway.customer.client.list(`/models/my?page=${page}&page_size=100`);
    if (more.length === 0) break;
    mine.push(...more);
  }
  return new Map(
    mine.map((item) => [
      Number(item['model_id']),
      { tokens: Number(item['tokens']), held: Number(item['held']) },
    ]),
  );
}

const STATUSES: Record<
  Exclude<Ending, 'whole' | 'error event'>,
  Record<Speech, readonly number[]>
> = {
  'bad gateway': { openai: [502], anthropic: [500] },
  timeout: { openai: [504], anthropic: [504] },
  'rate limited': { openai: [429], anthropic: [429] },
  overloaded: { openai: [503], anthropic: [529] },
  'bad request': { openai: [400], anthropic: [400] },
  'too large': { openai: [413], anthropic: [413] },
};

function expectEnding(
  ending: Ending,
  { speech, isStream }: { speech: Speech; isStream: boolean },
  { status, headers, text, rid }: Answer,
): void {
  expect(headers.get('request-id')).toBe(rid);
  expect(text).not.toMatch(/secret words|sk-of-the-operator|169\.254/);
  const events = textEvents(text);
  const mark =
    speech === 'openai' ? 'data: [DONE]' : 'event: message_stop\ndata: {"type":"message_stop"}';
  if (ending === 'whole') {
    expect([status, isStream ? '' : text.trim().slice(0, 300)]).toEqual([
      200,
      isStream ? '' : expect.stringContaining('"model":"replayed-'),
    ]);
    if (isStream) expect(events.at(-1)?.raw).toBe(mark);
    return;
  }
  const body = looseJson(ending === 'error event' ? (events.at(-1)?.data ?? '') : text);
  expect(body?.error).toEqual(
    expect.objectContaining({ type: expect.any(String), message: expect.any(String) }),
  );
  if (speech === 'anthropic') expect([body.type, body.request_id]).toEqual(['error', rid]);
  if (ending !== 'error event') return expect(STATUSES[ending][speech]).toContain(status);
  expect(status).toBe(200);
  expect(text).toContain(SAID);
  expect(text).not.toContain(mark);
  expect(text).not.toMatch(/"finish_reason":"|"stop_reason":"/);
}

function expectCharge(charge: Charge, row: UsageRow | undefined): void {
  if (charge === 'nothing') return expect(row?.charge ?? 0).toBe(0);
  if (charge === 'counted') {
    expect(row?.basis).toBe('estimated');
    expect(row?.charge).toBeGreaterThan(5);
    return expect(row?.charge).toBeLessThan(500);
  }
  expect([row?.basis, row?.charge]).toEqual([
    'reported',
    charge === 'reported' ? REPORTED.prompt + REPORTED.output : charge,
  ]);
}

function expectedOf(fault: Fault, speech: Speech, isStream: boolean): Expected {
  if (!isStream) return fault.json;
  return speech === 'anthropic' ? (fault.messagesStream ?? fault.stream) : fault.stream;
}

describe.each(SPEECHES)('behaviours 24, 25, 34, 35: an %s upstream that', (speech) => {
  describe.each([
    ['', false],
    ['in a stream ', true],
  ])('%s', (_, isStream) => {
    test.each(
      FAULTS.map((fault) => [fault.name, ...expectedOf(fault, speech, isStream), fault] as const),
    )('%s: %s, %s charged', (__, ending, charge, fault) => {
      const answer = answers.get(keyOf(fault, speech, isStream));
      if (!answer) throw new Error('there was no answer');
      expectEnding(ending, { speech, isStream }, answer);
      if (fault.retryAfter) expect(answer.headers.get('retry-after')).toBe(fault.retryAfter);
      expectCharge(charge, rows.get(answer.rid));
    });
  });
});

test('whatever the upstream did, nothing stays held and the balance is down by what was charged', () => {
  const chargeOf = ({ fault, speech, isStream }: Attempt): number =>
    rows.get(answers.get(keyOf(fault, speech, isStream))?.rid ?? '')?.charge ?? 0;
  const wrong = [...Map.groupBy(attempts, ({ model }) => model.id)].filter(([modelId, mine]) => {
    const live = balances.get(modelId);
    return (
      live?.held !== 0 ||
      live.tokens !== TOKENS - mine.reduce((sum, attempt) => sum + chargeOf(attempt), 0)
    );
  });
  expect(balances.size).toBeGreaterThanOrEqual(FAULTS.length);
  expect(wrong.map(([, [attempt]]) => attempt?.fault.name)).toEqual([]);
});
