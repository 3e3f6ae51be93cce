import { expect, test } from '@jest/globals';
import { parseFleetMessage } from './fleet-message.ts';

const REST = { kind: 'rest', by: 'node-1/0', route_id: 1, rest_ms: 60_000, is_providers: true };

test('a rest says whether its provider limits requests', () => {
  const limited = { ...REST, is_rate_limit: true };
  expect(parseFleetMessage(limited)).toEqual(limited);
  expect(parseFleetMessage(REST)).toBeUndefined();
});

test('a rest for one account is of a kind of its own, which is not taken for one of all accounts', () => {
  const own = { ...REST, kind: 'account_rest', account_id: 7, is_rate_limit: false };
  expect(parseFleetMessage(own)).toEqual(own);
  const recovered = { kind: 'account_recovered', account_id: 7, by: 'node-1/0', route_id: 1 };
  expect(parseFleetMessage(recovered)).toEqual(recovered);
  expect(parseFleetMessage({ ...own, account_id: undefined })).toBeUndefined();
});
