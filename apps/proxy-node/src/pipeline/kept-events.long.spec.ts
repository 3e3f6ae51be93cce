import { expect, test } from '@jest/globals';
import type { SnapshotModel } from '@tollgate/snapshot';
import { until } from '@tollgate/harness';
import { NODE_CREDENTIAL } from '../testing/node-under-test.ts';
import { ask, modelWith, node, PATHS, script, shareNode } from './continued-answer-under-test.ts';

// Each process has so small a part of the node's room that some streams fill it.
shareNode({ WORKERS: '512' });

/** One account leaves as much free as it takes. */
const ROOM = (64 * 1024 * 1024) / 512 / 2;
const WORDS = Array.from({ length: 40 }, (_, index) => `word ${index}, `);
const LAST = WORDS.at(-1) ?? '';

/** Returns how many bytes of events the process keeps. */
async function kept(): Promise<number> {
  const headers = { authorization: `Bearer ${NODE_CREDENTIAL}` };
  const text = await (await fetch(`${node.url}/metrics`, { headers })).text();
  return Number(/^tollgate_kept_event_bytes{[^}]*} (\S+)$/m.exec(text)?.[1]);
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
  const beyond = await ask('chat', model);
  expect([beyond.text, beyond.final.outcome]).toEqual([WORDS.join(''), 'upstream_interrupted']);
  expect(beyond.final.attempts).toHaveLength(1);

  left.abort();
  await until('the room is free', async () => (await kept()) === 0);
  expect((await ask('chat', model)).text).toBe(text);
});
