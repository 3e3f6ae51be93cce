import { expect, test } from '@jest/globals';
import { scopeValue } from './scope-value.ts';

test('a name is known by a hash of its first 256 bytes, its account and its kind', () => {
  const long = `${'é'.repeat(127)}ab`;
  const of = (name: string): string => scopeValue(1, 'end_user', name);
  expect(of(long)).toMatch(/^u[0-9a-f]{31}$/);
  expect(of(`${long}more`)).toBe(of(long));
  expect(of(`${long.slice(0, -1)}c`)).not.toBe(of(long));
  expect(scopeValue(2, 'end_user', 'ann')).not.toBe(of('ann'));
  expect(scopeValue(1, 'session', 'ann').slice(1)).not.toBe(of('ann').slice(1));
});
