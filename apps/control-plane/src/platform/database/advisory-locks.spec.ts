import { expect, test } from '@jest/globals';
import { ADVISORY_LOCK_FAMILIES, ADVISORY_LOCKS } from './advisory-locks.ts';

test('no two advisory locks of one kind have the same number', () => {
  for (const locks of [ADVISORY_LOCKS, ADVISORY_LOCK_FAMILIES]) {
    const numbers = Object.values(locks);
    expect(new Set(numbers).size).toBe(numbers.length);
  }
});
