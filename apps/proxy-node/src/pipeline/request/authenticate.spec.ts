import { describe, expect, test } from '@jest/globals';
import { issueApiKey, parseApiKey } from '@tollgate/contracts';
import { Refusal } from '../../refusals.ts';
import { authenticate } from './authenticate.ts';

const { key, hash } = issueApiKey(7);

describe('authenticate', () => {
  test('takes the key from either header', () => {
    expect(authenticate({ authorization: `Bearer ${key}` })[0]).toEqual({ accountId: 7, hash });
    expect(authenticate({ authorization: `bearer  ${key} ` })[0]).toEqual({ accountId: 7, hash });
    expect(authenticate({ 'x-api-key': key })[0]).toEqual({ accountId: 7, hash });
  });

  test('behaviour 1: a wrong key beside a right one still leaves the right one to be tried', () => {
    const other = issueApiKey(8).key;
    expect(
      authenticate({ authorization: 'Bearer stale', 'x-api-key': key }).map(
        (found) => found.accountId,
      ),
    ).toEqual([7]);
    expect(
      authenticate({ authorization: `Bearer ${other}`, 'x-api-key': key }).map(
        (found) => found.accountId,
      ),
    ).toEqual([8, 7]);
    expect(authenticate({ authorization: `Bearer ${key}`, 'x-api-key': key })).toHaveLength(1);
  });

  test('S9: a key of an unknown format goes the way of an unknown key', () => {
    const [decoy] = authenticate({ authorization: 'Bearer sk-other-abc' });
    expect(decoy.accountId).toBeGreaterThan(0);
    expect(decoy.hash).toMatch(/^[0-9a-f]{64}$/);
    expect(parseApiKey('sk-other-abc')).toBeUndefined();
  });

  test('refuses a request without any key', () => {
    for (const headers of [
      {},
      { authorization: 'Basic abc' },
      { 'x-api-key': ' ' },
      { authorization: `Bearer ${'x'.repeat(300)}` },
    ]) {
      expect(() => authenticate(headers)).toThrow(Refusal);
    }
  });
});
