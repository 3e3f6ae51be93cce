import { describe, expect, test } from '@jest/globals';
import { readArrived } from './arrived-answer.ts';
import { openaiAnswers } from './answers/openai/answers.ts';
import { readJson } from './answers/read-json.ts';
import { storedResponse } from './responses/stored-response.ts';

const bytes = (value: object, cutAt: string) => {
  const text = JSON.stringify(value);
  return Buffer.from(text.slice(0, text.lastIndexOf(cutAt)));
};
const exchange = (readWhole: typeof openaiAnswers.readWhole) => ({
  readJson: (body: Uint8Array) => readJson(body, { readWhole }, () => body),
});
const listed = (...tokens: string[]) =>
  tokens.map((token) => ({ token, logprob: -1, top_logprobs: [{ token: 'other', logprob: -2 }] }));

describe('of an answer that was cut', () => {
  test('the text counts, whole or in part', () => {
    const answer = { choices: [{ message: { content: 'one two three four' } }] };
    expect(readArrived(exchange(openaiAnswers.readWhole), bytes(answer, ' four'))).toMatchObject({
      outputText: 'one two three',
      usage: null,
    });
  });

  test('the tokens count that are listed before the text, and not their alternatives', () => {
    const part = {
      type: 'output_text',
      logprobs: listed('one', ' two', ' three'),
      text: 'one two three',
    };
    const answer = { output: [{ type: 'message', content: [part] }] };
    expect(readArrived(exchange(storedResponse), bytes(answer, 'logprob'))?.outputText).toBe(
      'one two three',
    );
  });

  test.each<[string, object]>([
    ['a chat', { content: listed('one', ' two') }],
    ['a refusal', { content: null, refusal: listed('one', ' two') }],
    ['a legacy completion', { tokens: ['one', ' two'], token_logprobs: [-1], top_logprobs: [{}] }],
  ])('the tokens count that %s lists', (_, logprobs) => {
    const answer = { choices: [{ logprobs, message: { content: 'one two' } }] };
    expect(
      readArrived(exchange(openaiAnswers.readWhole), bytes(answer, 'message'))?.outputText,
    ).toBe('one two');
  });

  test('usage counts that came before the cut', () => {
    const usage = { prompt_tokens: 3, completion_tokens: 9 };
    const answer = { usage, choices: [{ message: { content: 'one two' } }], end: '' };
    expect(
      readArrived(exchange(openaiAnswers.readWhole), bytes(answer, ' two'))?.usage,
    ).toMatchObject({
      input: 3,
      output: 9,
    });
  });

  test('nothing counts of what is no answer', () =>
    expect(readArrived(exchange(openaiAnswers.readWhole), Buffer.from('   <html>'))).toBeNull());
});
