import { describe, expect, test } from '@jest/globals';
import { readUpstreamError } from '../errors/upstream-error.ts';
import {
  knownRefusals,
  refusedField,
  withoutRefused,
  type RefusableField,
} from './refused-fields.ts';

const refusal = (error: object): string | null =>
  refusedField(
    readUpstreamError({ status: 400, headers: {}, body: Buffer.from(JSON.stringify({ error })) }),
  );
const adapted = (body: string, ...refused: RefusableField[]): string =>
  Buffer.from(withoutRefused(Buffer.from(body), new Set(refused))).toString();

describe('refusedField', () => {
  test.each([
    [
      "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
      { param: 'max_tokens', code: 'unsupported_parameter' },
      'max_tokens',
    ],
    [
      "Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported.",
      { param: 'temperature', code: 'unsupported_value' },
      'temperature',
    ],
    ["Unsupported parameter: 'stop' is not supported with this model.", {}, 'stop'],
    ['`top_p` is deprecated for this model.', { type: 'invalid_request_error' }, 'top_p'],
    [
      'Failed to deserialize the JSON body into the target type: messages[0].role: unknown variant `developer`, expected one of `system`, `user`, `assistant`, `tool` at line 1 column 40',
      {},
      'developer',
    ],
    [
      "Input tag 'developer' found using 'role' does not match any of the expected tags: 'system', 'user'",
      {},
      'developer',
    ],
    [
      "Unsupported value: 'messages[0].role' does not support 'system' with this model.",
      { param: 'messages[0].role', code: 'unsupported_value' },
      'system',
    ],
    ["'system' is too long", {}, null],
    ['temperature must be at most 2', { param: 'temperature', code: 'invalid_value' }, null],
    ["Unsupported parameter: 'tools' is not supported.", { param: 'tools' }, null],
    ["'constructor' is not supported", {}, null],
  ])('finds the field that an upstream refuses: %s', (message, words, expected) => {
    expect(refusal({ message, ...words })).toBe(expected);
  });
});

describe('withoutRefused', () => {
  test('lets instructions speak in a role that the model knows, and changes no other byte', () => {
    const body =
      '{"messages": [ {"role" : "developer", "content":"say \\"developer\\""},{"content":"developer","role":"user"},{"role":"system","content":"s"}]}';
    const spoken = body.replace(': "developer"', ': "system"');
    expect(adapted(body, 'developer')).toBe(spoken);
    expect(adapted(body, ...knownRefusals('deepseek-chat'))).toBe(spoken);
    const mini = adapted(body, ...knownRefusals('o1-mini'));
    expect(mini).toBe(spoken.replaceAll(/("role" ?: ?)"system"/g, '$1"user"'));
    for (const model of ['gpt-5', 'o3', 'a-name-unknown'])
      expect(adapted(body, ...knownRefusals(model))).toBe(body);
  });

  test('moves an output limit to its other name and changes no other byte', () => {
    expect(adapted('{ "model":"m",  "max_tokens": 12 , "n":1}', 'max_tokens')).toBe(
      '{ "model":"m",  "n":1,"max_completion_tokens":12}',
    );
    expect(adapted('{"max_completion_tokens":5}', 'max_completion_tokens')).toBe(
      '{"max_tokens":5}',
    );
  });

  test('keeps the limit that is left when both are given, and none when both are refused', () => {
    const both = '{"max_tokens":5,"max_completion_tokens":4}';
    expect(adapted(both, 'max_tokens')).toBe('{"max_completion_tokens":4}');
    expect(adapted(both, 'max_tokens', 'max_completion_tokens')).toBe('{}');
  });

  test('leaves sampling and stops out, and a request without them as it is', () => {
    expect(
      adapted('{"temperature":0,"stop":["a"],"top_p":1,"n":1}', 'temperature', 'stop', 'top_p'),
    ).toBe('{"n":1}');
    const body = Buffer.from('{"n":1}');
    expect(withoutRefused(body, new Set(['temperature']))).toBe(body);
  });
});
