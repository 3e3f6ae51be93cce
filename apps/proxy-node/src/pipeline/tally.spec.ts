import { expect, test } from '@jest/globals';
import { NO_USAGE } from '@tollgate/contracts';
import { Tally } from './tally.ts';

const tallyOf = ({ imageCount = 0 } = {}) => new Tally({ prompt: { textBytes: 5, messageCount: 1, imageCount, unboundedInputs: 0, text: () => 'hello' }, bounds: { promptTokens: 100, outputTokens: 100 } });

test('S27: a report of nothing at all is no report: the request is charged by our own count', async () => {
  const tally = tallyOf();
  tally.output('two words');
  expect(await tally.atEnd({ usage: NO_USAGE, isFinal: true })).toEqual({ usage: { ...NO_USAGE, input: 1, output: 2 }, basis: 'estimated', quarantined: null });
  expect(await tally.atEnd({ usage: { ...NO_USAGE, input: 7 }, isFinal: true })).toMatchObject({ usage: { input: 7, output: 0 }, basis: 'reported' });
});

test('images count where nobody reported the prompt: leaving before the report does not make them free', async () => {
  expect((await tallyOf({ imageCount: 3 }).atEnd({ usage: null, isFinal: false })).usage.input).toBe(1 + 3 * 85);
});
