import { expect, test } from '@jest/globals';
import type { SnapshotModel } from '@tollgate/snapshot';
import { until } from '@tollgate/harness';
import { NODE_CREDENTIAL } from '../testing/node-under-test.ts';
import { ask, modelWith, node, PATHS, script, shareNode } from './continued-answer-under-test.ts';

// Each process has so small a part of the node's room that some streams fill it.
shareNode({ WORKERS: '512' });

/** One account leaves as much free as it takes. */
const ROOM = (64 * 1024 * 1024) / 512 / 2;
/** One stream keeps an eighth of the room of all accounts. */
const STREAM = ROOM / 4;
const WORDS = Array.from({ length: 40 }, (_, index) => `word ${index}, `);
const NOT_KEPT = 'tollgate_streams_not_kept_total';
const LAST = WORDS.at(-1) ?? '';

async function scrape(): Promise<string> {
  const headers = { authorization: `Bearer ${NODE_CREDENTIAL}` };
  return (await fetch(`${node.url}/metrics`, { headers })).text();
}

/** Returns how many bytes of events the process keeps. */
async function kept(): Promise<number> {
  return Number(/^tollgate_kept_event_bytes{[^}]*} (\S+)$/m.exec(await scrape())?.[1]);
}

/** Returns how many streams met this limit. */
async function notKept(limit: 'stream' | 'room'): Promise<number> {
  const text = await scrape();
  const line = text.split('\n').find((each) => each.startsWith(`${NOT_KEPT}{limit="${limit}"`));
  return Number(line?.split(' ')[1] ?? 0);
}

/** Opens a stream that says the words and then waits; resolves once its client has them all. */
async function openWaiting(model: SnapshotModel, left: AbortSignal): Promise<void> {
  const { body } = await fetch(`${node.url}${PATHS.chat}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${node.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: model.name,
      stream: true,
      max_tokens: 500,
      messages: [{ role: 'user', content: 'tell me a story' }],
    }),
    signal: left,
  });
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
  for (let text = ''; !text.includes(LAST);) text += (await reader?.read())?.value ?? '';
}

test('streams beyond the room keep nothing and end as an error where they break off; what has ended leaves its room', async () => {
  const model = await modelWith(['openai', 'openai'], {});
  const brokenAndRepeated = () =>
    script({ words: WORDS, end: 'eof' }, { words: [...WORDS, 'end'], end: 'well' });
  brokenAndRepeated();
  const { text, stream } = await ask('chat', model);
  expect(text).toBe([...WORDS, 'end'].join(''));
  await until('the room is free', async () => (await kept()) === 0);

  script({ words: WORDS, end: 'waits' });
  const left = new AbortController();
  let full = 0;
  for (let before = -1; full > before && full <= ROOM;) {
    before = full;
    await openWaiting(model, left.signal);
    full = await kept();
  }
  expect(full).toBeGreaterThan(ROOM - stream.length);
  expect(full).toBeLessThanOrEqual(ROOM);

  brokenAndRepeated();
  const before = await notKept('room');
  const beyond = await ask('chat', model);
  expect(await notKept('room')).toBe(before + 1);
  expect([beyond.text, beyond.final.outcome]).toEqual([WORDS.join(''), 'upstream_interrupted']);
  expect(beyond.final.attempts).toHaveLength(1);

  left.abort();
  await until('the room is free', async () => (await kept()) === 0);
  expect((await ask('chat', model)).text).toBe(text);
});

test("a stream that is longer than an eighth of its worker's room keeps nothing", async () => {
  const model = await modelWith(['openai', 'openai']);
  const words = Array.from({ length: STREAM / 100 }, (_, index) => `word ${index}, `);
  const before = await notKept('stream');
  script({ words, end: 'eof' }, { words: ['end'], end: 'well', follows: words.join('') });
  const { text, stream, final } = await ask('chat', model, { max_tokens: 5_000 });
  expect(stream.length).toBeGreaterThan(STREAM);
  expect([text, final.outcome]).toEqual([words.join(''), 'upstream_interrupted']);
  expect(await notKept('stream')).toBe(before + 1);
});
