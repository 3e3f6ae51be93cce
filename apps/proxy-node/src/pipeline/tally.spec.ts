import { expect, test } from '@jest/globals';
import { NO_USAGE } from '@tollgate/contracts';
import { Tally } from './tally.ts';

const tallyOf = ({ imageCount = 0 } = {}) =>
  new Tally({
    prompt: {
      textBytes: 5,
      messageCount: 1,
      imageCount,
      unboundedInputs: 0,
      serverToolUses: 0,
      otherBytes: 0,
      predictedBytes: 0,
      text: () => 'hello',
    },
    plan: {
      bounds: { promptTokens: 100, outputTokens: 100 },
      besideTextTokens: 16 + imageCount * 4096,
    },
  });

test('S27: a report of nothing at all is no report: the request is charged by our own count', async () => {
  const tally = tallyOf();
  tally.output('two words');
  expect(await tally.atEnd({ usage: NO_USAGE, isFinal: true })).toEqual({
    usage: { ...NO_USAGE, input: 1, output: 2 },
    basis: 'estimated',
    quarantined: null,
  });
  expect(await tally.atEnd({ usage: { ...NO_USAGE, input: 7 }, isFinal: true })).toMatchObject({
    usage: { input: 7, output: 0 },
    basis: 'reported',
  });
});

test('images count where nobody reported the prompt: leaving before the report does not make them free', async () => {
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
  expect(tally.ifEnded({ usage: { ...NO_USAGE, input: 700 }, isFinal: false })).toEqual({
    ...NO_USAGE,
    input: 700,
    output: 2,
  });
});
