import { expect, test } from '@jest/globals';
import { AdminRefusal } from '@tollgate/admin-client';
import { en } from '../words/en.ts';
import { failureOf } from './failure.ts';

const TITLE = 'The account is waiting for approval';
const refusal = (detail: string): AdminRefusal =>
  new AdminRefusal(403, {
    title: TITLE,
    detail,
    code: 'account_pending',
    errors: [],
    request_id: 'r-1',
  });

test("a refusal is said once: the server's general words are left out where the catalogue has its own", () => {
  expect(failureOf(refusal(TITLE), en)).toEqual({
    title: en.failures.codes.account_pending,
    detail: undefined,
    requestId: 'r-1',
    fields: {},
  });
});

test('what the server knows of this very case is shown below the words of the catalogue', () => {
  expect(failureOf(refusal('It waits since Monday'), en).detail).toBe('It waits since Monday');
});
