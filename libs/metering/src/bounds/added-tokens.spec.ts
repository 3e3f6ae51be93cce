import { expect, test } from '@jest/globals';
import { addedTokensOf, templateTokensOf } from './added-tokens.ts';
import { promptBoundOf } from './prompt-bounds.ts';

const MODELS = ['claude-opus-5'];
const { template, toolPrompt } = promptBoundOf(MODELS);

test.each([
  [0, [], template],
  [1, [], template + toolPrompt],
  [0, ['bash'], template + toolPrompt],
  [1, ['bash'], template + toolPrompt],
  [3, ['bash', 'memory'], template + toolPrompt],
])(
  'the text of the provider counts once, with its part for tools where there is any: %i own, %j',
  (ownTools, vendorTools, tokens) => {
    expect(templateTokensOf({ ownTools, vendorTools }, MODELS)).toBe(tokens);
  },
);

test('each own tool and each image adds its mark, and an image of unknown size the largest', () => {
  const of = (added: Partial<Parameters<typeof addedTokensOf>[0]>): number =>
    addedTokensOf({ images: [], ownTools: 0, vendorTools: [], ...added }, MODELS) - template;
  expect(of({})).toBe(0);
  expect(of({ ownTools: 2 })).toBe(toolPrompt + 2 * 32);
  expect(of({ vendorTools: ['bash', 'memory'] })).toBe(toolPrompt + 350 + 2_000);
  const image = { size: null, detail: null };
  expect(of({ images: [image, image] })).toBe(2 * (8 + promptBoundOf(MODELS).images.largest));
});
