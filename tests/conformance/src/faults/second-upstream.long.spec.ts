import { createDemoUpstream } from '@tollgate/harness';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startGateway, type Gateway } from '../gateway.ts';
import { inLanes } from '../in-lanes.ts';
import { usageRows, type UsageRow } from '../usage-rows.ts';
import { OUTPUT_LIMIT, type Ending, type Fault } from './fault-scene.ts';
import { FAULTS } from './fault-table.ts';
import { SPEECHES, startFaultyUpstream, type FaultyUpstream } from './faulty-upstream.ts';
import { startRawUpstream, type RawUpstream } from './raw-upstream.ts';
import { answerParts, head, JSON_HEADERS, REPORTED, SSE_HEADERS, type Speech } from './wire.ts';

const TIMEOUT_MS = 240_000;
const DEADLINES = {
  connect_timeout_ms: 4_000,
  first_token_timeout_ms: 3_000,
  idle_timeout_ms: 3_000,
  total_timeout_ms: 30_000,
};
const CONCURRENCY = 16;
/** The client has seen nothing of these. */
const UNSEEN: ReadonlySet<Ending> = new Set([
  'bad gateway',
  'timeout',
  'rate limited',
  'overloaded',
]);

interface Attempt {
  fault: Fault;
  at: number;
  speech: Speech;
  isStream: boolean;
}

let gateway: Gateway;
let faulty: FaultyUpstream;
let sound: RawUpstream;
let rows: Map<string, UsageRow>;
const answers = new Map<Attempt, { status: number; text: string; rid: string }>();

const endingOf = ({ fault, speech, isStream }: Omit<Attempt, 'at'>): Ending => {
  const inStream = speech === 'anthropic' ? (fault.messagesStream ?? fault.stream) : fault.stream;
  return (isStream ? inStream : fault.json)[0];
};
const attempts: readonly Attempt[] = FAULTS.flatMap((fault, at) =>
  SPEECHES.flatMap((speech) => [false, true].map((isStream) => ({ fault, at, speech, isStream }))),
).filter((attempt) => UNSEEN.has(endingOf(attempt)));

beforeAll(async () => {
  faulty = await startFaultyUpstream();
  sound = await startRawUpstream((socket, { path, body }) => {
    const { json, begin, finish, end } = answerParts(
      path.startsWith('/openai') ? 'openai' : 'anthropic',
    );
    const isStream = /"stream":\s*true/.test(body);
    socket.end(
      head('200 OK', isStream ? SSE_HEADERS : JSON_HEADERS) +
        (isStream ? begin + finish + end : json),
    );
  });
  gateway = await startGateway();
  const models = await addModels();
  await inLanes(attempts, CONCURRENCY, (attempt) => ask(attempt, models));
  const rids = [...answers.values()].map(({ rid }) => rid);
  rows = await usageRows(gateway.tollgate.databaseUrl, rids);
}, TIMEOUT_MS);
afterAll(async () => {
  await gateway?.stop();
  await Promise.all([faulty?.close(), sound?.close()]);
}, TIMEOUT_MS);

/** Adds models by fault, protocol and form: a route that rests after the one must not be omitted for the other. */
async function addModels(): Promise<Map<Attempt, string>> {
  const models = await gateway.addModels(
    attempts.map(({ at, speech }) => ({
      url: faulty.urlOf(at, speech),
      protocol: speech,
      settings: DEADLINES,
    })),
  );
  const seconds = await Promise.all(
    SPEECHES.map((speech) =>
      createDemoUpstream(gateway.tollgate, speech, { base_url: `${sound.origin}/${speech}/v1` }),
    ),
  );
  for (const [at, { id }] of models.entries())
    await gateway.tollgate.admin.createRoute({
      model_id: id,
      upstream_id: seconds[SPEECHES.indexOf(attempts[at]?.speech ?? 'openai')] ?? 0,
      upstream_model: 'sound',
      priority: 1,
    });
  await gateway.tollgate.admin.syncAll();
  return new Map(attempts.map((attempt, at) => [attempt, models[at]?.name ?? '']));
}

async function ask(attempt: Attempt, models: Map<Attempt, string>): Promise<void> {
  const { speech, isStream } = attempt;
  const path = speech === 'openai' ? 'chat/completions' : 'messages';
  const response = await fetch(`${gateway.nodeUrl}/v1/${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: models.get(attempt),
      stream: isStream,
      max_tokens: OUTPUT_LIMIT,
      messages: [{ role: 'user', content: 'Count to five.' }],
    }),
  });
  const rid = response.headers.get('x-request-id') ?? '';
  answers.set(attempt, { status: response.status, text: await response.text(), rid });
}

describe.each(SPEECHES)(
  'with a second upstream, an %s client gets its answer from one that',
  (mine) => {
    test.each(
      attempts
        .filter(({ speech }) => speech === mine)
        .map((attempt) => [attempt.fault.name, attempt.isStream, attempt] as const),
    )('%s, stream %s', (_name, isStream, attempt) => {
      const { status, text, rid } = answers.get(attempt) ?? { status: 0, text: '', rid: '' };
      expect([status, text]).toEqual([200, expect.stringContaining('three four five')]);
      expect(text.split('one two three')).toHaveLength(2);
      expect(text).not.toContain('"error"');
      if (isStream) expect(text).toContain(mine === 'openai' ? 'data: [DONE]' : 'message_stop');
      expect([rows.get(rid)?.basis, rows.get(rid)?.charge]).toEqual([
        'reported',
        REPORTED.prompt + REPORTED.output,
      ]);
    });
  },
);
