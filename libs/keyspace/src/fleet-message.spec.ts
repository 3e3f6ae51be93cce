import { expect, test } from '@jest/globals';
import { parseFleetMessage } from './fleet-message.ts';

const REST = { kind: 'rest', by: 'node-1/0', route_id: 1, rest_ms: 60_000, is_providers: true };

test('a rest says whether its provider limits requests; one of an earlier release does not', () => {
  const limited = { ...REST, is_rate_limit: true };
  expect(parseFleetMessage(limited)).toEqual(limited);
  expect(parseFleetMessage(REST)).toEqual({ ...REST, is_rate_limit: false });
});
