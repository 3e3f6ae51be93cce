import { describe, expect, test } from '@jest/globals';
import { isModelAllowed } from './model-globs.ts';

describe('allowed models', () => {
  test.each([
    ['', 'x', true],
    ['  ', 'x', true],
    ['*', 'x', true],
    [',', 'x', false],
    ['gpt-4', 'gpt-4o', false],
    [' a , gpt-4* ', 'gpt-4o', true],
    ['*-4', 'gpt-4', true],
    ['g*4*4', 'gpt-4', false],
    ['aa*aa', 'aaa', false],
    ['*ab*', 'aab', true],
    ['gpt.4', 'gpt-4', false],
  ])('%j on %j is %j', (allowedModels, modelName, isAllowed) => {
    expect(isModelAllowed(allowedModels, modelName)).toBe(isAllowed);
  });

  test('are judged in linear time (S35)', () => {
    const name = 'a'.repeat(100_000);
    const startedMs = performance.now();
    for (const list of [`${'*a'.repeat(50_000)}b`, `${' '.repeat(100_000)}b`, '*'.repeat(100_000).concat('b')]) expect(isModelAllowed(list, name)).toBe(false);
    expect(performance.now() - startedMs).toBeLessThan(150);
  });
});
