import { describe, expect, test } from '@jest/globals';
import { countTokens } from '@tollgate/metering/token-counter';
import type { FailoverSettings } from '@tollgate/snapshot';
import fc from 'fast-check';
import {
  ask,
  chunk,
  closing,
  cut,
  FIRST,
  modelWith,
  named,
  opening,
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
} from './continued-answer-under-test.ts';

shareNode();

const WHOLE = [...FIRST, ...SECOND];
const HAD = FIRST.join('');
const again: Script = { words: WHOLE, end: 'well' };
/** Lists protocols of a client and two upstreams, of which none continues a prefill natively. */
const WAYS: readonly [Client, Dialect, Dialect][] = [
  ['chat', 'openai', 'openai'],
  ['chat', 'openai', 'anthropic'],
  ['chat', 'anthropic', 'openai'],
  ['messages', 'anthropic', 'anthropic'],
  ['messages', 'anthropic', 'openai'],
  ['messages', 'openai', 'anthropic'],
];
const byDefault = (dialects: readonly Dialect[]) => modelWith(dialects, {});

describe.each(WAYS)('a %s stream of protocol %s that breaks off', (client, one, other) => {
  test.each(['reset', 'eof', 'error'] as const)(
    `(%s) is whole where another of protocol ${other} says the same again, and charged as one answer`,
    async (end) => {
      script(cut(end), again);
      const { text, stream, final } = await ask(client, await byDefault([one, other]));
      expect(text).toBe(WHOLE.join(''));
      expect(stream.split('"role":"assistant"')).toHaveLength(2);
      expect(stream).not.toContain('"error"');
      expect(final).toMatchObject({
        outcome: 'completed',
        // The provider of the whole answer reports this.
        basis: 'reported',
        input_tokens: PROMPT,
        output_tokens: REPORTED,
        charge: PROMPT + REPORTED,
        attempts: [{ error: 'cut', cost: { input_tokens: expect.any(Number) } }, { status: 200 }],
      });
      const { input_tokens: prompt = 0, output_tokens: delivered = 0 } =
        final.attempts[0]?.cost ?? {};
      expect(prompt).toBeGreaterThan(0);
      expect(Math.abs(delivered - countTokens(HAD))).toBeLessThanOrEqual(1);
      expect(final.attempts[1]).not.toHaveProperty('cost');
    },
  );
});

const CALL = { index: 0, id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } };
const BLOCK = { type: 'tool_use', id: 'toolu_1', name: 'f', input: {} };
const CALLING: Record<Dialect, string> = {
  openai: chunk({ tool_calls: [CALL] }) + chunk({}, 'tool_calls'),
  anthropic:
    named('content_block_stop', { index: 0 }) +
    named('content_block_start', { index: 1, content_block: BLOCK }) +
    named('content_block_stop', { index: 1 }) +
    named('message_delta', { delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 9 } }),
};
const said = (dialect: Dialect, ...words: string[]): string =>
  opening(dialect, { words, end: 'eof' });

/** Returns answers that do not begin with all that the client has, or break off as well. */
function others(dialect: Dialect): Record<string, string> {
  const rest = SECOND.join('');
  return {
    'in other words': said(dialect, 'There was a gate.') + closing(dialect),
    'otherwise from its last letter on': said(dialect, 'Once upon as') + closing(dialect),
    'otherwise in one letter': said(dialect, `Once upon A ${rest}`) + closing(dialect),
    'less than the client has': said(dialect, 'Once upon') + closing(dialect),
    'only what follows': said(dialect, rest) + closing(dialect),
    'it behind an apology': said(dialect, `Sorry. ${HAD}${rest}`) + closing(dialect),
    'it in a block of code': said(dialect, `\`\`\`\n${HAD}${rest}`) + closing(dialect),
    nothing: said(dialect) + closing(dialect),
    'the same, and breaks off before its end': said(dialect, 'Once upon'),
    'a tool call': said(dialect, 'Once upon') + CALLING[dialect],
  };
}

describe.each<[Client, Dialect]>([
  ['chat', 'openai'],
  ['messages', 'openai'],
  ['chat', 'anthropic'],
  ['messages', 'anthropic'],
])('a %s stream that an upstream of protocol %s is to repeat', (client, dialect) => {
  test.each(Object.entries(others(dialect)))(
    'ends with the error of the cut where that says %s, charged for what was delivered',
    async (_what, raw) => {
      script(cut('eof'), { words: [], end: 'well', raw: () => raw });
      const { text, stream, final } = await ask(client, await byDefault([dialect, dialect]));
      expect(text).toBe(HAD);
      expect(stream).toContain('"error"');
      expect(stream).not.toMatch(/\[DONE\]|message_stop|tool_use|tool_calls/);
      expect(final).toMatchObject({
        outcome: 'upstream_interrupted',
        output_tokens: countTokens(HAD),
        attempts: [{ error: 'cut' }, { error: 'cut', cost: { input_tokens: expect.any(Number) } }],
      });
      expect(final.attempts[0]).not.toHaveProperty('cost');
    },
  );

  test('is whole wherever it breaks off, charged as the repeated answer', async () => {
    const words = fc.array(fc.constantFrom('stone ', ' ', 'wall', ', a ', '1', '門 ', '\n'), {
      minLength: 1,
      maxLength: 30,
    });
    await fc.assert(
      fc.asyncProperty(words, fc.nat(29), async (some, place) => {
        const pieces = ['so', ...some, 'end'];
        script(
          { words: pieces.slice(0, 1 + (place % some.length)), end: 'eof' },
          { words: pieces, end: 'well' },
        );
        const { text, final } = await ask(client, await byDefault([dialect, dialect]));
        expect([text, final.outcome]).toEqual([pieces.join(''), 'completed']);
      }),
      { numRuns: 5 },
    );
  }, 60_000);
});

/** Is the number of failures in a row after which a route rests for their account. */
const FAILURES_OF_A_REST = 5;

test('an answer that says otherwise is no failure of its route', async () => {
  const model = await byDefault(['openai', 'openai']);
  for (let turn = 0; turn < FAILURES_OF_A_REST; turn += 1) {
    script(cut('eof'), { words: ['Something else.'], end: 'well' });
    await ask('chat', model);
  }
  script({ words: [], end: '500' }, { words: SECOND, end: 'well' });
  const { text, final } = await ask('chat', model);
  expect([text, final.outcome]).toEqual([SECOND.join(''), 'completed']);
});

test('an answer that breaks off for the second time before one that says otherwise is charged as one that broke off once', async () => {
  const said = [...FIRST, 'time ', 'there '];
  const broken = { words: said, end: 'eof' } as const;
  const other = { words: ['Something else.'], end: 'well' } as const;
  const names = ['gpt-4o', 'gpt-4o', 'gpt-4o'];
  const dialects = ['openai', 'openai', 'openai'] as const;
  script(broken);
  const { final: once } = await ask('chat', await modelWith(['openai'], {}, names));
  script(cut('eof'), broken, other);
  const { text, final } = await ask('chat', await modelWith(dialects, {}, names));
  expect(text).toBe(said.join(''));
  expect(final).toMatchObject({
    basis: 'estimated',
    input_tokens: once.input_tokens,
    output_tokens: once.output_tokens,
    charge: once.charge,
    attempts: [
      // The second upstream was asked for all of it.
      { error: 'cut', cost: { output_tokens: countTokens(HAD.trimEnd()) } },
      { error: 'cut' },
      {
        error: 'cut',
        cost: { input_tokens: expect.any(Number), output_tokens: expect.any(Number) },
      },
    ],
  });
  expect(final.attempts[1]).not.toHaveProperty('cost');
});

test('the request is sent again as it was, with its whole limit', async () => {
  script(cut('eof'), again);
  await ask('chat', await byDefault(['openai', 'openai']));
  const [first, second] = upstreams.map(
    ({ requests }) => JSON.parse(requests.at(-1)?.body ?? '{}') as object,
  );
  expect(second).toEqual({ ...first, model: expect.any(String) });
});

test('white space before the first word makes no difference', async () => {
  script(
    { words: [' Once', ' upon'], end: 'eof' },
    { words: ['Once upon', ' a time'], end: 'well' },
  );
  const { text } = await ask('chat', await byDefault(['openai', 'openai']));
  expect(text).toBe(' Once upon a time');
});

const LONG = { max_tokens: 5_000 };
const LONG_WORDS = Array.from({ length: 500 }, (_, index) => `word ${index}, `);

describe('no other upstream is asked again', () => {
  test.each<[string, FailoverSettings, readonly string[]]>([
    ['where the model forbids it', { continues: false }, FIRST],
    ['where a replay is to be safe', { replay: 'safe' }, FIRST],
    ['for a long answer', {}, LONG_WORDS],
  ])('%s', async (_why, failover, words) => {
    const asked = upstreams[1]?.requests.length;
    script({ words, end: 'eof' }, { words: [...words, 'end'], end: 'well' });
    const model = await modelWith(['openai', 'openai'], failover);
    const { text, stream } = await ask('chat', model, LONG);
    expect([text, stream.includes('"error"')]).toEqual([words.join(''), true]);
    expect(upstreams[1]?.requests.length).toBe(asked);
  });
});

describe('where routes continue a prefill', () => {
  const HAIKU = 'claude-3-haiku-20240307';

  test('another one is asked for the whole answer when they are used up', async () => {
    const model = await modelWith(['anthropic', 'openai'], {}, [HAIKU, 'real']);
    script(cut('eof'), again);
    const { text, final } = await ask('messages', model);
    expect([text, final.outcome]).toEqual([WHOLE.join(''), 'completed']);
  });

  test('one that refuses a prefill after all is asked for the whole answer', async () => {
    const model = await modelWith(['openai', 'anthropic'], {}, ['real', HAIKU]);
    script(cut('eof'), { ...again, isWithoutPrefill: true });
    const { text, final } = await ask('chat', model);
    expect([text, final.attempts.map(({ error }) => error)]).toEqual([
      WHOLE.join(''),
      ['cut', 'invalid_request', undefined],
    ]);
  });

  test('one is asked for the whole answer where the text has no anchor', async () => {
    const model = await modelWith(['openai', 'anthropic'], {}, ['real', HAIKU]);
    script({ words: ['I'], end: 'eof' }, { words: ['I', ' am.'], end: 'well' });
    expect((await ask('chat', model)).text).toBe('I am.');
  });

  test('the rest of a long answer is written on', async () => {
    const model = await modelWith(['openai', 'anthropic'], {}, ['real', HAIKU]);
    script({ words: LONG_WORDS, end: 'eof' }, { ...well, follows: LONG_WORDS.join('') });
    expect((await ask('chat', model, LONG)).text).toBe([...LONG_WORDS, ...SECOND].join(''));
  });
});
