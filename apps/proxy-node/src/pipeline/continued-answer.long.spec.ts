import { describe, expect, test } from '@jest/globals';
import { countTokens } from '@tollgate/metering/token-counter';
import type { FailoverSettings } from '@tollgate/snapshot';
import fc from 'fast-check';
import { until } from '@tollgate/harness';
import {
  anchorIn,
  ask,
  cut,
  finalOf,
  FIRST,
  modelWith,
  node,
  PATHS,
  PROMPT,
  REPORTED,
  script,
  SECOND,
  shareNode,
  upstreams,
  well,
  type Client,
  type Dialect,
  type Script,
  type Seen,
} from './continued-answer-under-test.ts';

shareNode();

/** Is the end of FIRST that a continuation repeats. The customer pays it once. */
const ANCHOR = 'upon a ';
const ADDED = REPORTED - countTokens(ANCHOR);

describe.each<[Client, Dialect, Dialect]>([
  ['chat', 'openai', 'openai'],
  ['chat', 'openai', 'anthropic'],
  ['chat', 'anthropic', 'openai'],
  ['messages', 'anthropic', 'anthropic'],
  ['messages', 'anthropic', 'openai'],
  ['messages', 'openai', 'anthropic'],
])('a %s stream of an upstream of protocol %s that breaks off', (client, one, other) => {
  test.each(['reset', 'eof', 'error'] as const)(
    `(%s) is continued by one of protocol ${other}, and charged as one answer`,
    async (end) => {
      const model = await modelWith([one, other]);
      script(cut(end), well);
      const { text, stream, final } = await ask(client, model);
      expect(text).toBe([...FIRST, ...SECOND].join(''));
      expect(stream.split('"role":"assistant"')).toHaveLength(2);
      expect(stream).not.toContain('"error"');
      expect(stream).toContain('\n: the answer is continued by another upstream\n');
      expect(final).toMatchObject({
        outcome: 'completed',
        output_tokens: countTokens(FIRST.join('')) + ADDED,
        attempts: [
          { error: 'cut', status: 200 },
          { status: 200, cost: { input_tokens: PROMPT, output_tokens: countTokens(ANCHOR) } },
        ],
      });
      expect(final.attempts[0]).not.toHaveProperty('cost');
      expect(final.upstream_id).toBe(final.attempts[1]?.upstream_id);
    },
  );
});

test('the charge is the prompt once, what was delivered and what was continued, wherever the stream breaks off', async () => {
  const words = fc.array(fc.constantFrom('stone ', 'wall', ', a ', 'été ', '門 ', '\n'), {
    minLength: 1,
    maxLength: 30,
  });
  await fc.assert(
    fc.asyncProperty(words, async (more) => {
      const before = [...FIRST, ...more];
      // Each run has routes of its own, because routes that break off again and again rest.
      const model = await modelWith(['anthropic', 'openai']);
      const alone = await modelWith(['anthropic'], {});
      const follows = before.join('');
      script({ words: before, end: 'eof' }, { ...well, follows });
      const { text, final } = await ask('messages', model);
      const anchor = anchorIn(upstreams[1]?.requests.at(-1)?.body ?? '', follows);
      const added = Math.max(0, REPORTED - countTokens(anchor));
      expect(text).toBe([...before, ...SECOND].join(''));
      const broken = (await ask('messages', alone)).final;
      expect(broken.outcome).toBe('upstream_interrupted');
      expect(final.input_tokens).toBe(broken.input_tokens);
      expect(final.output_tokens).toBe(broken.output_tokens + added);
      expect(final.charge).toBe(broken.charge + added);
    }),
    { numRuns: 8 },
  );
});

test('the request for the rest has the text that was delivered, and what is left of the limit', async () => {
  const model = await modelWith(['openai', 'openai']);
  script(cut('eof'), well);
  await ask('chat', model);
  const sent = JSON.parse(upstreams[1]?.requests.at(-1)?.body ?? '{}') as {
    max_tokens: number;
    messages: { role: string; content: string }[];
  };
  expect(sent.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user']);
  expect(sent.messages[1]?.content).toBe(FIRST.join(''));
  expect(sent.max_tokens).toBe(500 - countTokens(FIRST.join('')));
});

test.each<Client>(['chat', 'messages'])(
  'a %s stream is continued with an instruction by an upstream that refuses the prefill',
  async (client) => {
    const model = await modelWith(
      ['anthropic', 'anthropic'],
      { continues: true },
      'claude-sonnet-4-5',
    );
    const asked = upstreams[1]?.requests.length ?? 0;
    script(cut('eof'), { ...well, isWithoutPrefill: true });
    const { text, stream, final } = await ask(client, model);
    expect(text).toBe([...FIRST, ...SECOND].join(''));
    expect(stream).not.toContain('"error"');
    const sent = upstreams[1]?.requests.slice(asked).map(({ body }) => JSON.parse(body) as object);
    const alone = await modelWith(['anthropic'], {}, 'claude-sonnet-4-5');
    const broken = (await ask(client, alone)).final;
    expect(final).toMatchObject({
      outcome: 'completed',
      output_tokens: broken.output_tokens + ADDED,
      attempts: [{ error: 'cut' }, { error: 'invalid_request', status: 400 }, { status: 200 }],
    });
    expect(sent).toMatchObject([
      { messages: [{ role: 'user' }, { role: 'assistant' }] },
      { messages: [{ role: 'user' }, { role: 'assistant' }, { role: 'user' }] },
    ]);
  },
);

test('an upstream that refuses the request for the rest in every form is asked for it twice, and the stream ends with an error', async () => {
  const model = await modelWith(
    ['anthropic', 'anthropic'],
    { continues: true },
    'claude-sonnet-4-5',
  );
  const asked = upstreams[1]?.requests.length ?? 0;
  script(cut('eof'), { words: [], end: '400' });
  const { text, stream, final } = await ask('messages', model);
  expect([text, stream.includes('"error"')]).toEqual([FIRST.join(''), true]);
  expect(final.outcome).toBe('upstream_interrupted');
  expect((upstreams[1]?.requests.length ?? 0) - asked).toBe(2);
});

test('an answer names its upstream where the model allows it, and else does not', async () => {
  const headerOf = async (failover: FailoverSettings): Promise<string | null> => {
    const { name } = await modelWith(['openai'], failover);
    script({ words: SECOND, end: 'well' });
    const messages = [{ role: 'user', content: 'hi' }];
    const { headers } = await node.post(PATHS.chat, { model: name, messages, stream: true });
    return headers.get('x-tollgate-upstream');
  };
  expect(await headerOf({ names_upstream: true })).toMatch(/^upstream-\d+$/);
  expect(await headerOf({})).toBeNull();
});

test('an answer may break off twice and be continued by a third upstream', async () => {
  const model = await modelWith(['openai', 'anthropic', 'openai']);
  const second = ['time ', 'in a ', 'castle '];
  script(
    cut('eof'),
    { words: second, end: 'error', follows: FIRST.join('') },
    { words: ['there was.'], end: 'well', follows: [...FIRST, ...second].join('') },
  );
  const { text, stream, final } = await ask('chat', model);
  expect(text).toBe('Once upon a time in a castle there was.');
  expect(stream.split('"finish_reason":"stop"')).toHaveLength(2);
  expect(final.attempts.map(({ error }) => error)).toEqual(['cut', 'cut', undefined]);
  const prompts = final.attempts.map(({ cost }) => cost?.output_tokens);
  const again = countTokens('time in a castle ');
  expect(prompts).toEqual([undefined, countTokens(ANCHOR), again]);
  const delivered = countTokens(FIRST.join('')) + countTokens(`${ANCHOR}${second.join('')}`);
  expect(final.output_tokens).toBe(delivered - countTokens(ANCHOR) + REPORTED - again);
});

describe.each<Client>(['chat', 'messages'])(
  'a %s stream ends with an error, charged for what was delivered',
  (client) => {
    const own: Dialect = client === 'chat' ? 'openai' : 'anthropic';
    const expectBroken = (
      { text, stream, final }: Seen,
      words: readonly string[] = FIRST,
    ): void => {
      expect(text).toBe(words.join(''));
      expect(stream).toContain('"error"');
      expect(stream).not.toContain('[DONE]');
      expect(stream).not.toContain('message_stop');
      expect(final).toMatchObject({
        outcome: 'upstream_interrupted',
        output_tokens: countTokens(words.join('')),
      });
    };

    test.each(['reset', 'eof', 'error'] as const)(
      '(%s) when no other upstream continues it',
      async (end) => {
        const failing = await modelWith([own, own]);
        script(cut(end), { words: [], end: '500' });
        const seen = await ask(client, failing);
        expectBroken(seen);
        expect(seen.final.attempts).toMatchObject([{ error: 'cut' }, { error: 'server' }]);
        script(cut(end));
        expectBroken(await ask(client, await modelWith([own])));
      },
    );

    test('when the model forbids a continuation', async () => {
      const model = await modelWith([own, own], { continues: false });
      script(cut('eof'), well);
      expectBroken(await ask(client, model));
    });

    test.each<[string, Pick<Script, 'before'>, object]>([
      ['in a tool call', { before: 'tool' }, {}],
      ['after thinking', { before: 'thinking' }, {}],
      [
        'of structured output',
        {},
        client === 'chat'
          ? { response_format: { type: 'json_object' } }
          : { output_config: { format: { type: 'json_schema', schema: { type: 'object' } } } },
      ],
    ])('%s', async (_what, before, more) => {
      const model = await modelWith([own, own]);
      script({ ...cut('eof'), ...before }, well);
      const asked = upstreams[1]?.requests.length;
      const { text, stream, final } = await ask(client, model, more);
      expect(text).toBe(FIRST.join(''));
      expect(stream).toContain('"error"');
      expect(final.outcome).toBe('upstream_interrupted');
      expect(upstreams[1]?.requests.length).toBe(asked);
    });
  },
);

test('a client that leaves while the rest is asked for pays what it had', async () => {
  const model = await modelWith(['openai', 'openai']);
  script(cut('eof'), { words: [], end: 'waits' });
  const response = await node.post(PATHS.chat, {
    model: model.name,
    stream: true,
    messages: [{ role: 'user', content: 'tell me a story' }],
  });
  const reader = response.body?.getReader();
  const asked = upstreams[1]?.requests.length ?? 0;
  await reader?.read();
  await until('a request to the second upstream', () => upstreams[1]?.requests.length !== asked);
  await reader?.cancel();
  await upstreams[1]?.aborted;
  const rid = response.headers.get('request-id');
  const final = await finalOf(rid);
  expect(final.outcome).toBe('client_closed');
  expect(final.output_tokens).toBe(countTokens(FIRST.join('')));
});
