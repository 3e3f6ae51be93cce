import { expect, test } from '@jest/globals';
import { takesCacheKey } from './index.ts';

test.each([
  ['https://api.openai.com/v1', true],
  ['https://eu.api.openai.com/v1', true],
  ['https://shop.openai.azure.com/openai/v1', true],
  ['https://shop.services.ai.azure.com:443/openai/v1', true],
  ['http://127.0.0.1:8000/v1', false],
  ['https://api.openai.com.example/v1', false],
  ['https://example.com/api.openai.com/', false],
  ['https://notapi.openai.com.evil/v1', false],
])('%s takes a derived cache key: %s', (base_url, takes) => {
  expect(takesCacheKey({ base_url })).toBe(takes);
});
