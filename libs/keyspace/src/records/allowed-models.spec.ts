import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { isModelAllowed } from './allowed-models.ts';

/** The texts have few letters, so that patterns often match. */
const text = fc.string({ unit: fc.constantFrom('a', 'b', '-'), maxLength: 6 });
const pattern = fc.string({
  unit: fc.constantFrom('a', 'b', '-', '*'),
  minLength: 1,
  maxLength: 6,
});

describe('the models that a key allows', () => {
  test.each([
    ['', 'any', true],
    ['*', 'any', true],
    ['  ', 'any', true],
    ['gpt-*, claude-*', 'claude-4', true],
    ['gpt-*,claude-*', 'gemma', false],
    ['gpt', 'gpt-5', false],
    ['*-mini', 'gpt-5-mini', true],
    ['a*a', 'a', false],
    ['a**b', 'ab', true],
    [',', 'any', false],
  ])('%j and the model %j: %j', (list, name, isAllowed) => {
    expect(isModelAllowed(list, name)).toBe(isAllowed);
  });

  test('a pattern allows what its regular expression matches', () => {
    fc.assert(
      fc.property(pattern, text, (glob, name) => {
        const expression = new RegExp(`^${glob.replaceAll('*', '.*')}$`);
        expect(isModelAllowed(glob, name)).toBe(expression.test(name));
      }),
    );
  });
});
