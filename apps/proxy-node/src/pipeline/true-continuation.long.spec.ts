import { describe, expect, test } from '@jest/globals';
import type { FailoverSettings } from '@tollgate/snapshot';
import {
  ask,
  modelWith,
  script,
  shareNode,
  upstreams,
  type Client,
  type Dialect,
  type Script,
} from './continued-answer-under-test.ts';

// Each process has so small a part of the node's tokens that two continuations of a long prompt exceed it.
shareNode({ WORKERS: '512' });

const HAIKU = 'claude-3-haiku-20240307';
const STORY = ['Once ', 'upon ', 'a ', 'time ', 'there ', 'was ', 'an ', 'old ', 'gate '];
const REST = ['of ', 'iron, ', 'and ', 'few ', 'knew ', 'who ', 'had ', 'built ', 'it.'];

describe.each<[Client, Dialect, FailoverSettings, string]>([
  ['chat', 'openai', { continues: true }, 'real'],
  ['messages', 'anthropic', { continues: true }, 'real'],
  ['chat', 'anthropic', {}, HAIKU],
  ['messages', 'anthropic', {}, HAIKU],
])(
  'a continuation of a %s stream from an upstream of protocol %s, with %j and model %s',
  (client, dialect, failover, name) => {
    const first: Script = { words: STORY, end: 'eof' };
    const model = () => modelWith([dialect, dialect], failover, name);

    test.each<[string, readonly string[]]>([
      ['starts again', [...STORY, ...REST]],
      ['starts again in the middle', [...STORY.slice(3), ...REST]],
      ['excuses itself', ['I apologize ', 'for the interruption. ', ...REST]],
      ['is in a block of code', ['```\n', ...STORY, ...REST, '\n```']],
      ['goes on without the anchor', REST],
      ['says nothing', []],
    ])(
      'that %s is the error of the cut, and what was delivered is charged',
      async (_what, words) => {
        const served = await model();
        script(first, { words: [], end: '500' });
        const { final: broken } = await ask(client, served);
        script(first, { words, end: 'well' });
        const { text, stream, final } = await ask(client, await model());
        expect(text).toBe(STORY.join(''));
        expect(stream).toContain('"error"');
        expect(stream).not.toContain('[DONE]');
        expect(stream).not.toContain('message_stop');
        expect(final).toMatchObject({
          outcome: 'upstream_interrupted',
          output_tokens: broken.output_tokens,
          attempts: [
            { error: 'cut' },
            { error: 'cut', cost: { output_tokens: expect.any(Number) } },
          ],
        });
        expect(final.attempts[1]?.cost?.output_tokens).toBeGreaterThan(0);
      },
    );

    test('that is true is passed on whole', async () => {
      script(first, { words: REST, end: 'well', follows: STORY.join('') });
      const { text, final } = await ask(client, await model());
      expect(text).toBe([...STORY, ...REST].join(''));
      expect(final.outcome).toBe('completed');
    });
  },
);

test('an answer is not continued where the model forbids it, though its route continues a prefill', async () => {
  const model = await modelWith(['anthropic', 'anthropic'], { continues: false }, HAIKU);
  script({ words: STORY, end: 'eof' }, { words: REST, end: 'well' });
  const { text, stream } = await ask('messages', model);
  expect(text).toBe(STORY.join(''));
  expect(stream).toContain('"error"');
});

describe('by default', () => {
  const first: Script = { words: STORY, end: 'eof' };
  const rest: Script = { words: REST, end: 'well', follows: STORY.join('') };

  test('a route that takes no prefill is passed over for one that does', async () => {
    const dialects = ['anthropic', 'anthropic', 'anthropic'] as const;
    const model = await modelWith(dialects, {}, [HAIKU, 'claude-opus-4-6', HAIKU]);
    script(first, rest, rest);
    const before = upstreams[1]?.requests.length;
    const { text, final } = await ask('messages', model);
    expect([text, final.outcome]).toEqual([[...STORY, ...REST].join(''), 'completed']);
    expect(upstreams[1]?.requests.length).toBe(before);
  });

  test('no answer is continued beyond the tokens of an hour', async () => {
    const model = await modelWith(['openai', 'anthropic'], {}, ['real', HAIKU]);
    const messages = [{ role: 'user', content: 'tell me a story of iron '.repeat(1_200) }];
    script(first, rest);
    const { final: continued } = await ask('chat', model, { messages });
    const { final: broken } = await ask('chat', model, { messages });
    expect([continued.outcome, broken.outcome]).toEqual(['completed', 'upstream_interrupted']);
    expect(broken.attempts.map(({ error }) => error)).toEqual(['cut']);
  });

  test('what was delivered counts towards them: a provider bills it too', async () => {
    const model = await modelWith(['openai', 'anthropic'], {}, ['real', HAIKU]);
    // So many tokens in so few bytes that one stream may keep them.
    const words = Array.from({ length: 10 }, (_, at) => `${'a '.repeat(600)}of part ${at}. `);
    const limit = { max_tokens: 20_000 };
    script({ words, end: 'eof' }, { ...rest, follows: words.join('') });
    const { final: continued } = await ask('chat', model, limit);
    const { final: broken } = await ask('chat', model, limit);
    expect([continued.outcome, broken.outcome]).toEqual(['completed', 'upstream_interrupted']);
  });
});
