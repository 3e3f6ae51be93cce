import { describe, expect, test } from '@jest/globals';
import { familyOf, modelFamilyTableSchema, shippedFamilies } from './model-families.ts';

const table = shippedFamilies();

describe('the family of a model', () => {
  test.each([
    ['gpt-5', 'gpt-5'],
    ['gpt-5-mini-2025-08-07', 'gpt-5'],
    ['gpt-5.1', 'gpt-5'],
    ['gpt-5.5-2026-04-23', 'gpt-5.5'],
    ['gpt-5-chat-latest', 'gpt-5-chat'],
    ['openai/GPT-4o-mini', 'gpt-4o'],
    ['us.anthropic.claude-opus-5-5-v1:0', 'claude-opus-5'],
    ['anthropic/claude-3.7-sonnet', 'claude-3.7-sonnet'],
    ['ft:gpt-4o-mini-2024-07-18:my-org::8xYz', 'gpt-4o'],
    ['o3', 'o3'],
    ['o3-mini', 'o3-mini'],
    ['models/gemini-3.8-flash', 'gemini-3'],
  ])('%s is %s', (name, family) => {
    expect(familyOf(table, name)?.family).toBe(family);
  });

  test.each(['gpt-50', 'o30', 'my-gpt-5', 'foo3', 'gpt', ''])('%j is not known', (name) => {
    expect(familyOf(table, name)).toBeNull();
  });
});

test.each([
  ['gpt-5-mini', 'max_completion_tokens'],
  ['openai/gpt-5.2', 'max_completion_tokens'],
  ['gpt-5-chat-latest', 'max_completion_tokens'],
  ['o1-preview', 'max_completion_tokens'],
  ['o3', 'max_completion_tokens'],
  ['o4-mini-2025-04-16', 'max_completion_tokens'],
  ['gpt-4o', undefined],
  ['gpt-oss-20b', undefined],
  ['claude-opus-5-5', undefined],
])('the output limit of %s goes into %s', (name, field) => {
  expect(familyOf(table, name)?.output_limit_field).toBe(field);
});

test('no name stands in two families of the shipped table', () => {
  const names = table.families.flatMap((family) => family.names);
  expect(new Set(names).size).toBe(names.length);
});

test('a default above the maximum is refused', () => {
  const [first] = table.families;
  const family = { ...first, max_output_tokens: 10, default_output_tokens: 11 };
  expect(modelFamilyTableSchema.safeParse({ ...table, families: [family] }).success).toBe(false);
});
