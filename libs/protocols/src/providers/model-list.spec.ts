import { expect, test } from '@jest/globals';
import { PROVIDERS } from './registry.ts';

const names = (protocol: 'openai' | 'anthropic' | 'gemini', answer: unknown) =>
  PROVIDERS[protocol].models?.names(answer);

test('the names of models are read as routes take them', () => {
  expect(names('openai', { object: 'list', data: [{ id: 'a' }, { id: 'b' }] })).toEqual(['a', 'b']);
  expect(names('openai', [{ id: 'a' }])).toEqual(['a']);
  expect(names('anthropic', { data: [{ type: 'model', id: 'claude' }] })).toEqual(['claude']);
  expect(names('gemini', { models: [{ name: 'models/gemini-2.5-pro' }] })).toEqual([
    'gemini-2.5-pro',
  ]);
});

test('what is no list has no names, and what is no name is passed over', () => {
  for (const answer of [
    null,
    'page',
    1,
    {},
    { data: 'x' },
    { data: [null, 1, {}, { id: 7 }, { id: '' }] },
  ])
    expect(names('openai', answer)).toEqual([]);
});

test('a provider whose list is at another address has none here', () => {
  expect(PROVIDERS.bedrock.models).toBeNull();
  expect(PROVIDERS.azure.models).toBeNull();
});
