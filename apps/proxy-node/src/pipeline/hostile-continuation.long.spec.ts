import { describe, expect, test } from '@jest/globals';
import { countTokens } from '@tollgate/metering/token-counter';
import {
  ask,
  chunk,
  closing,
  cut,
  data,
  FIRST,
  modelWith,
  named,
  opening,
  REPORTED,
  script,
  SECOND,
  shareNode,
  type Client,
  type Dialect,
} from './continued-answer-under-test.ts';

shareNode();

type Raw = (anchor: string) => string;
const REST = SECOND.join('');
const said = (dialect: Dialect, ...words: string[]): string =>
  opening(dialect, { words, end: 'eof' });

const ERROR = { type: 'error', error: { type: 'overloaded_error', message: 'it fell over' } };
const CALL = { index: 0, id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } };
const BLOCK = { type: 'tool_use', id: 'toolu_1', name: 'f', input: {} };
const PARTS: Record<Dialect, { error: string; call: string; thought: string }> = {
  openai: {
    error: data(ERROR),
    call: chunk({ tool_calls: [CALL] }) + chunk({}, 'tool_calls'),
    thought: chunk({ reasoning_content: 'They want me to write on.' }),
  },
  anthropic: {
    error: named('error', ERROR),
    call:
      named('content_block_stop', { index: 0 }) +
      named('content_block_start', { index: 1, content_block: BLOCK }) +
      named('content_block_stop', { index: 1 }) +
      named('message_delta', { delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 9 } }),
    thought: '',
  },
};

/** Returns streams that are no continuations, or that end before they are known to be. */
function refused(dialect: Dialect): Record<string, Raw> {
  const { error, call } = PARTS[dialect];
  return {
    'an error before the anchor': () => said(dialect) + error,
    'an error within the anchor': (anchor) => said(dialect, anchor.slice(0, 4)) + error,
    'an error behind the anchor': (anchor) => said(dialect, anchor.trimEnd()) + error,
    'an end behind the anchor, without a finish': (anchor) => said(dialect, anchor.trimEnd()),
    'a tool call before the anchor': () => said(dialect) + call,
    'a tool call within the anchor': (anchor) => said(dialect, anchor.slice(0, 4)) + call,
    'another text behind the finish': (anchor) =>
      said(dialect, anchor.slice(0, 4)) + closing(dialect) + said(dialect, anchor.slice(4), REST),
    ...(dialect === 'openai' && {
      'a refusal before the anchor': (anchor: string) =>
        said(dialect) + chunk({ refusal: 'No.' }) + chunk({ content: anchor + REST }),
      'parts before the anchor': (anchor: string) =>
        said(dialect) +
        chunk({ content: [{ type: 'text', text: 'Well: ' }] }) +
        chunk({ content: anchor + REST }) +
        closing(dialect),
    }),
  };
}

/** Returns streams that continue the text in odd ways. */
function whole(dialect: Dialect): Record<string, Raw> {
  const { thought } = PARTS[dialect];
  return {
    'a character at a time': (anchor) => said(dialect, ...(anchor + REST)) + closing(dialect),
    'all at once': (anchor) => said(dialect, anchor + REST) + closing(dialect),
    'after a thought': (anchor) =>
      dialect === 'openai'
        ? thought + said(dialect, anchor + REST) + closing(dialect)
        : opening(dialect, { words: [anchor + REST], end: 'eof', before: 'thinking' }) +
          closing(dialect).replace('"index":0', '"index":1'),
  };
}

describe.each<[Client, Dialect]>([
  ['chat', 'openai'],
  ['messages', 'openai'],
  ['chat', 'anthropic'],
  ['messages', 'anthropic'],
])('a %s stream that an upstream of protocol %s is to continue', (client, dialect) => {
  test.each(Object.entries(refused(dialect)))(
    'ends with the error of the cut where that says %s',
    async (_what, raw) => {
      script(cut('eof'), { words: [], end: 'well', follows: FIRST.join(''), raw });
      const { text, stream, final } = await ask(client, await modelWith([dialect, dialect]));
      expect(text).toBe(FIRST.join(''));
      expect(stream).toContain('"error"');
      expect(stream).not.toMatch(/\[DONE\]|message_stop|tool_use|tool_calls|refusal/);
      expect(final).toMatchObject({
        outcome: 'upstream_interrupted',
        output_tokens: countTokens(FIRST.join('')),
        attempts: [{ error: 'cut' }, { cost: { input_tokens: expect.any(Number) } }],
      });
    },
  );

  test.each(Object.entries(whole(dialect)))(
    'is whole where that continues %s, and charged as one answer',
    async (_what, raw) => {
      script(cut('eof'), { words: [], end: 'well', follows: FIRST.join(''), raw });
      const { text, stream, final } = await ask(client, await modelWith([dialect, dialect]));
      expect(text).toBe(FIRST.join('') + REST);
      expect(stream).not.toContain('write on');
      expect(final).toMatchObject({
        outcome: 'completed',
        output_tokens: countTokens(FIRST.join('')) + REPORTED - countTokens('upon a '),
      });
    },
  );

  test('is charged by its text where no usage is reported', async () => {
    const raw: Raw = (anchor) =>
      said(dialect, anchor, ...SECOND) +
      closing(dialect).replaceAll(/"usage":\{[^}]*\}/g, '"usage":null');
    script(cut('eof'), { words: [], end: 'well', follows: FIRST.join(''), raw });
    const { text, final } = await ask(client, await modelWith([dialect, dialect]));
    expect(text).toBe(FIRST.join('') + REST);
    const tokens = countTokens(FIRST.join('')) + countTokens(REST);
    expect(Math.abs(final.output_tokens - tokens)).toBeLessThanOrEqual(2);
  });
});
