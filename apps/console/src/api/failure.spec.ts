import { describe, expect, test } from '@jest/globals';
import { AdminRefusal } from '@tollgate/admin-client';
import { en } from '../words/en.ts';
import { zh } from '../words/zh.ts';
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

describe('a fault of a field', () => {
  const wrong = (fault: Partial<AdminRefusal['fields'][number]>): AdminRefusal =>
    new AdminRefusal(400, {
      title: 'The request is invalid',
      detail: 'password: must have at least 8 characters',
      code: 'invalid_request',
      errors: [{ field: 'password', code: 'rule', params: {}, message: '', ...fault }],
      request_id: 'r-1',
    });

  test('is said in the language of the reader, once and without a request id', () => {
    const fault = { code: 'too_short', params: { minimum: 8 }, message: 'English' } as const;
    expect(failureOf(wrong(fault), zh)).toEqual({
      title: zh.failures.codes.invalid_request,
      detail: '至少 8 个字符',
      requestId: undefined,
      fields: { password: '至少 8 个字符' },
    });
  });

  test('that breaks a rule is translated by the text of the rule, and shown as it is in English', () => {
    const fault = { message: 'is above the ceiling of the account, which is 60' };
    expect(failureOf(wrong(fault), zh).fields).toEqual({ password: '超过账户的上限' });
    expect(failureOf(wrong(fault), en).fields).toEqual({ password: fault.message });
  });
});

test('what the server knows of this very case is shown below the words of the catalogue', () => {
  expect(failureOf(refusal('It waits since Monday'), en).detail).toBe('It waits since Monday');
});
