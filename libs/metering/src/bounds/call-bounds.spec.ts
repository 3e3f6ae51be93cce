import { expect, test } from '@jest/globals';
import { callBound } from './call-bounds.ts';

const bound = (calls: { searches: number } | undefined, reads_more_than_sent?: boolean) =>
  callBound({ ask: { prompt: calls ? { calls } : {} }, model: { reads_more_than_sent } });

test('a request allows the calls that it names, and a model that reads by itself ten rounds of each', () => {
  expect(bound(undefined)).toBeUndefined();
  expect(bound({ searches: 3 })).toEqual({ searches: 3 });
  expect(bound({ searches: 30 }, false)).toEqual({ searches: 30 });
  expect(bound(undefined, true)).toEqual({ searches: 10 });
  expect(bound({ searches: 3 }, true)).toEqual({ searches: 10 });
  expect(bound({ searches: 30 }, true)).toEqual({ searches: 30 });
});
