import { expect, test } from '@jest/globals';
import { countPrompt, TOKENISED_CHARS_MAX } from './count-prompt.ts';

const promptOf = (whole: string): { textBytes: number; text: () => string } => ({
  textBytes: Buffer.byteLength(whole),
  text: () => whole,
});
const SENTENCE = 'The quick brown fox jumps over the lazy dog. ';

/** The sentence is 10 tokens of o200k, and the last space one of its own. */
test('a prompt is counted as its tokens', async () => {
  expect(await countPrompt(promptOf(SENTENCE.repeat(1_000)))).toBe(10_001);
});

test('a prompt that is too long by its bytes alone is not even put together', async () => {
  const text = (): string => {
    throw new Error('the text must not be read');
  };
  expect(await countPrompt({ textBytes: 128_001, text }, 1_000)).toBeGreaterThan(1_000);
});

test('a prompt that turns out too long is not tokenised to its end, and others have their turn meanwhile (S37c)', async () => {
  let turns = 0;
  let isCounting = true;
  const takeTurns = (): void => {
    turns += 1;
    if (isCounting) setImmediate(takeTurns);
  };
  setImmediate(takeTurns);
  const whole = SENTENCE.repeat(50_000);
  expect(await countPrompt(promptOf(whole), 20_000)).toBeGreaterThan(20_000);
  const early = turns;
  expect(await countPrompt(promptOf(whole))).toBe(500_001);
  isCounting = false;
  // All of the text takes 550 turns, one for every 4,096 characters.
  expect(early).toBeGreaterThan(10);
  expect(early).toBeLessThan((turns - early) / 10);
});

test('text beyond what any model reads stands with its bytes', async () => {
  const whole = ' '.repeat(TOKENISED_CHARS_MAX + 5_000);
  const tokens = await countPrompt(promptOf(whole));
  expect(tokens).toBeGreaterThanOrEqual(5_000);
  expect(tokens).toBeLessThan(5_000 + TOKENISED_CHARS_MAX / 32);
});
