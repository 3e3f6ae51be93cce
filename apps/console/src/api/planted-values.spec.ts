/** @jest-environment node */
import { expect, jest, test } from '@jest/globals';

/** One more row of each table is planted, as `npm run generate` would write it from the API document. */
const TABLES = '../../../../libs/admin-client/src/__generated__/tables.ts';
const tables = await import('@tollgate/admin-client');
jest.resetModules();
jest.unstable_mockModule(TABLES, () => ({
  ...tables,
  CHARGED_CLASSES: [
    ...tables.CHARGED_CLASSES,
    {
      name: 'video_output',
      field: 'video_output_tokens',
      unit: 'token',
      side: 'output',
      parent: 'output',
      is_optional: true,
    },
  ],
  KEY_LIMITS: [...tables.KEY_LIMITS, { name: 'rpw', counts: 'Requests a week' }],
}));
const { isLimited, sideTokens, ceilingValues, limitValues } = await import('./tables.ts');
const { repriced } = await import('../features/admin-models/repriced.ts');
const { totalsOf, sumOf } = await import('../features/usage/course.ts');

test('a bulk change of prices keeps the weight of a planted class, and the tiers', () => {
  const tiers = [{ above_prompt_tokens: 9, weights: { weight_video_output: '6' } }];
  const price = {
    price_per_million: '1',
    multipliers: { web: '2' },
    tiers,
    weight_video_output: '5',
  };
  expect(repriced(price as never, '3')).toEqual({
    price_per_million: '3',
    multipliers: { web: '2' },
    tiers,
    weight_input: '1',
    weight_output: '1',
    weight_cache_read: '1',
    weight_cache_write: '1',
    weight_cache_write_1h: null,
    weight_audio_input: null,
    weight_audio_output: null,
    weight_image_input: null,
    weight_image_output: null,
    weight_searches: null,
    weight_video_output: '5',
  });
});

test('totals and rows of requests include a planted class, on its side', () => {
  const row = { model_id: 1, requests: 1, errors: 0, charge: 9 };
  const counts = Object.fromEntries(
    tables.CHARGED_CLASSES.map(({ field }) => [field, field === 'output_tokens' ? 4 : 0]),
  );
  const data = [3, 2].map((planted) => ({ ...row, ...counts, video_output_tokens: planted }));
  const [total] = totalsOf({ data, group_by: 'model' } as never);
  expect(total).toMatchObject({ output_tokens: 8, video_output_tokens: 5, requests: 2 });
  expect(sideTokens(sumOf(total ? [total] : []), 'output')).toBe(13);
  expect(sideTokens({ output_tokens: 4, video_output_tokens: 3 } as never, 'output')).toBe(7);
  expect(sideTokens({ output_tokens: 4 }, 'prompt')).toBeNull();
  // A search is no token.
  expect(sideTokens({ input_tokens: 7, searches: 2 }, 'prompt')).toBe(7);
});

test('a planted limit of keys is asked for, sent, and counts as a limit', () => {
  const typed = limitValues((name) => (String(name) === 'rpw' ? 7 : 0));
  expect(typed).toMatchObject({ rpm: 0, tpm: 0, concurrency: 0, rpw: 7 });
  expect(isLimited(typed)).toBe(true);
  expect(ceilingValues(() => null)).toHaveProperty('rpw_ceiling', null);
});
