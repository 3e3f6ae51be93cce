import { expect, test } from '@jest/globals';
import { NO_USAGE, outputTokensOf, promptTokensOf } from '@tollgate/contracts';
import { estimateFamily, outputCeiling } from '@tollgate/metering';
import { readChatUsage, readMessagesUsage } from '@tollgate/protocols';
import fc from 'fast-check';
import { CloserEstimate } from '../request/closer-estimate.ts';
import { Tally } from './tally.ts';

const tallyOf = ({
  imageCount = 0,
  closer = null as CloserEstimate | null,
  exactTextTokens = null as number | null,
} = {}) =>
  new Tally({
    closer,
    exactTextTokens,
    prompt: {
      textBytes: 5,
      messageCount: 1,
      imageCount,
      images: [],
      ownTools: 0,
      vendorTools: [],
      unboundedInputs: 0,
      serverToolUses: 0,
      otherBytes: 0,
      predictedBytes: 0,
      text: () => 'hello',
    },
    plan: {
      bounds: {
        promptTokens: 100,
        promptTextBytes: 5,
        outputTokens: 100,
      },
      besideTextTokens: 16 + imageCount * 4096,
    },
  });

test('S27: a report of nothing at all is no report: the request is charged by our own count', async () => {
  const tally = tallyOf();
  tally.output('two words');
  expect(await tally.atEnd({ usage: NO_USAGE, isFinal: true })).toEqual({
    usage: { ...NO_USAGE, input: 1, output: 2 },
    basis: 'estimated',
    doubt: null,
    excessTokens: 0,
    overrun: null,
  });
  expect(await tally.atEnd({ usage: { ...NO_USAGE, input: 7 }, isFinal: true })).toMatchObject({
    usage: { input: 7, output: 0 },
    basis: 'reported',
  });
});

test('images count when the upstream reported no prompt: disconnecting before the report does not make them free', async () => {
  expect(
    (await tallyOf({ imageCount: 3 }).atEnd({ usage: null, isFinal: false })).usage.input,
  ).toBe(1 + 3 * 85);
});

test('a hold covers all it took for the prompt until the upstream says what it was, which many do at the end only', () => {
  const tally = tallyOf({ imageCount: 2 });
  tally.output('two words');
  expect(tally.ifEnded({ usage: null, isFinal: false })).toEqual({
    ...NO_USAGE,
    input: 5 + 16 + 2 * 4096,
    output: 2,
  });
  expect(tally.ifEnded({ usage: { ...NO_USAGE, input: 70 }, isFinal: false })).toEqual({
    ...NO_USAGE,
    input: 70,
    output: 2,
  });
});

test('output reported above its limit is charged at the limit, or at what was delivered where that is more', async () => {
  const small = await tallyOf().atEnd({
    usage: { ...NO_USAGE, input: 7, output: 9_999, reasoning: 9_000 },
    isFinal: true,
  });
  expect(small).toEqual({
    usage: { ...NO_USAGE, input: 7, output: 100, reasoning: 100 },
    basis: 'reported',
    doubt: 'output_beyond_limit',
    excessTokens: 0,
    overrun: { factor: 99.99, tokens: 9_899 },
  });
  const delivered = tallyOf();
  delivered.output('word '.repeat(150));
  expect(
    await delivered.atEnd({ usage: { ...NO_USAGE, input: 7, output: 9_999 }, isFinal: true }),
  ).toMatchObject({ usage: { output: 151 }, overrun: { factor: 99.99 } });
});

test('a report of less than was delivered is not believed, in either protocol and however long the text', async () => {
  const tally = tallyOf();
  tally.output('a million words '.repeat(300));
  expect(
    await tally.atEnd({ usage: { ...NO_USAGE, input: 7, output: 5 }, isFinal: true }),
  ).toMatchObject({
    usage: { input: 7, output: 901 },
    basis: 'estimated',
    doubt: 'output_below_text',
  });
});

test('a prompt figure above its bound is charged at the bound, and does not take the output with it', async () => {
  const tally = tallyOf();
  tally.output('two words');
  expect(
    await tally.atEnd({ usage: { ...NO_USAGE, input: 9_999, output: 60 }, isFinal: true }),
  ).toMatchObject({
    usage: { input: 100, output: 60 },
    basis: 'reported',
    doubt: 'prompt_beyond_bound',
    excessTokens: 9_899,
  });
});

test.each([
  ['an answer that was cut', false, null],
  ['an answer that was cut, of a prompt that was tokenised', false, 1],
  ['a whole answer of a prompt that was tokenised', true, 1],
])(
  'the prompt of %s is what its upstream reported up to the bound, while it runs, at its end and as a cost',
  async (_what, isFinal, exactTextTokens) => {
    for (const [input, charged] of [
      [60, 60],
      [100, 100],
      [101, 100],
      [9_999, 100],
    ] as const) {
      const tally = tallyOf({ exactTextTokens });
      tally.output('two words');
      const reported = { usage: { ...NO_USAGE, input, output: 2 }, isFinal };
      const counts = [tally.soFar(reported), tally.ifEnded(reported)];
      const { usage, excessTokens } = await tally.atEnd(reported);
      expect([...counts, usage].map(promptTokensOf)).toEqual([charged, charged, charged]);
      expect(excessTokens).toBe(input - charged);
      expect(tally.costSoFar(reported).input_tokens).toBe(charged);
    }
  },
);

test('without a report the arguments of a call are charged as the family counts them', async () => {
  const outputOf = async (pieces: string[]): Promise<number> => {
    const parts = { texts: [], tools: [], calls: [], messages: 1, images: [], pages: 0 };
    const closer = new CloserEstimate(estimateFamily('claude-opus-5'), () => parts);
    const tally = tallyOf({ closer });
    tally.called();
    for (const piece of pieces) tally.output(piece);
    return (await tally.atEnd({ usage: null, isFinal: false }, 0, () => true)).usage.output;
  };
  const [none, two] = await Promise.all([
    outputOf(['weather', '["a","b","c","d"]']),
    outputOf(['weather', '{"a":"b"', ',"c":"d"}']),
  ]);
  expect(two - none).toBeGreaterThan(20);
});

test('without a report JSON in the text of an answer is no argument of its calls, in a stream or as a whole', async () => {
  const outputOf = async (pieces: string[], call: (tally: Tally) => void): Promise<number> => {
    const parts = { texts: [], tools: [], calls: [], messages: 1, images: [], pages: 0 };
    const closer = new CloserEstimate(estimateFamily('claude-opus-5'), () => parts);
    const tally = tallyOf({ closer });
    for (const piece of pieces)
      if (piece === '<call>') call(tally);
      else tally.output(piece);
    return (await tally.atEnd({ usage: null, isFinal: false }, 0, () => true)).usage.output;
  };
  const said = '{"a":1,"b":2,"c":3,"d":4}';
  const call = 'weather{"city":"Oslo"}';
  const streamed = [
    await outputOf([said, '<call>', call], (tally) => tally.called()),
    await outputOf(['<call>', call, said], (tally) => tally.called()),
  ];
  const whole = await outputOf([`${said}${call}`, '<call>'], (tally) =>
    tally.calledInAll({ calls: 1, callArguments: () => 1 }),
  );
  const more = await outputOf([`${said}${call}`, '<call>'], (tally) =>
    tally.calledInAll({ calls: 1, callArguments: () => 5 }),
  );
  for (const each of streamed) expect(Math.abs(each - whole)).toBeLessThan(5);
  expect(more - whole).toBeGreaterThan(20);
});

test('without a report a known family is charged as its providers count, within the limit and only as far as the hold covers it', async () => {
  const tools = ['{"name":"weather","parameters":{"type":"object"}}'];
  const parts = { texts: ['hello'], tools, calls: [], messages: 1, images: [], pages: 0 };
  const closer = new CloserEstimate(estimateFamily('claude-opus-5'), () => parts);
  const missing = { usage: null, isFinal: false };
  const ended = (fits: () => boolean) => {
    const tally = tallyOf({ closer });
    tally.called();
    tally.output('weather{"city":"Berlin"}');
    return tally.atEnd(missing, 0, fits);
  };
  const plain = (await ended(() => false)).usage;
  const { usage, basis, overrun } = await ended(() => true);
  expect(plain.input).toBe(1);
  expect(usage.input).toBeGreaterThan(300);
  expect(usage.output).toBeGreaterThan(plain.output + 20);
  expect(usage.output).toBeLessThanOrEqual(100);
  expect([basis, overrun]).toEqual(['estimated', null]);
  const reported = { usage: { ...NO_USAGE, input: 7, output: 9 }, isFinal: true };
  expect((await tallyOf({ closer }).atEnd(reported, 0, () => true)).usage).toMatchObject({
    input: 7,
    output: 9,
  });
});

/** Is the limit of `tallyOf`. */
const CEILING = outputCeiling(100);

const figure = fc.oneof(
  fc.nat({ max: 3_000 }),
  fc.constantFrom(undefined, null, 0, -1, 0.5, '5', '', {}, Number.NaN, 2 ** 40, 2 ** 60, 1e300),
);
const isCount = (value: unknown): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 2 ** 40;

test.each([
  [
    'chat',
    (prompt: unknown, output: unknown) =>
      readChatUsage({ prompt_tokens: prompt, completion_tokens: output }),
  ],
  [
    'messages',
    (prompt: unknown, output: unknown) =>
      readMessagesUsage({ input_tokens: prompt, output_tokens: output }),
  ],
])(
  'a side that is reported is charged up to its bound, one that is not is estimated, and the basis says so: %s',
  async (_, read) => {
    const words = fc.nat({ max: 2_000 });
    await fc.assert(
      fc.asyncProperty(figure, figure, words, async (prompt, output, count) => {
        const tally = tallyOf();
        tally.output('word '.repeat(count));
        const { usage, basis } = await tally.atEnd({ usage: read(prompt, output), isFinal: true });
        const says = [prompt, output].some((value) => isCount(value) && value > 0);
        const isPrompt = says && isCount(prompt);
        const isOutput = says && isCount(output);
        expect(promptTokensOf(usage)).toBe(isPrompt ? Math.min(prompt, 100) : 1);
        expect(outputTokensOf(usage)).toBeLessThanOrEqual(CEILING);
        if (!isOutput && count > 0)
          expect(outputTokensOf(usage)).toBe(Math.min(count + 1, CEILING));
        if (isOutput && basis === 'reported')
          expect(outputTokensOf(usage)).toBeLessThanOrEqual(output);
        if (basis === 'reported') expect(isPrompt && isOutput).toBe(true);
        const soFar = tally.soFar({ usage: read(prompt, output), isFinal: true });
        expect(outputTokensOf(soFar)).toBeLessThanOrEqual(outputTokensOf(usage));
      }),
    );
  },
);

test('an estimate is at most twice the limit and 1,024 tokens, reasoning and text under unknown names included', async () => {
  const missing = { usage: null, isFinal: false };
  for (const isShown of [true, false]) {
    const tally = tallyOf();
    tally.output('word '.repeat(20_000), isShown);
    expect(outputTokensOf(tally.soFar(missing))).toBe(CEILING);
    // A hold covers what a report may still say of the text that is not shown.
    expect(outputTokensOf(tally.ifEnded(missing))).toBe(isShown ? CEILING : 20_001);
    expect((await tally.atEnd(missing, 5_000)).usage.output).toBe(CEILING);
  }
});

test('a report above the limit is charged up to what was delivered, of shown text no more than the ceiling', async () => {
  const ended = async (shown: number, hidden: number, reasoning: number) => {
    const tally = tallyOf();
    tally.output('word '.repeat(shown));
    tally.output('word '.repeat(hidden), false);
    const usage = { ...NO_USAGE, input: 7, output: 50_000, reasoning };
    const counted = await tally.atEnd({ usage, isFinal: true });
    return [counted.usage.output, counted.basis];
  };
  expect(await ended(20_000, 0, 0)).toEqual([CEILING, 'reported']);
  const [withReasoning] = await ended(10, 20_000, 20_000);
  expect(Number(withReasoning)).toBeGreaterThan(20_000);
});
