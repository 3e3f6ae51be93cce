import { expect, test } from '@jest/globals';
import { assertNamed } from './service-user.ts';

test('a user without an entry in /etc/passwd is refused before anything is created, with the remedy', () => {
  const unnamed = (): never => {
    throw new Error('uv_os_get_passwd returned ENOENT');
  };
  expect(() => assertNamed(undefined, unnamed)).toThrow(
    /has no entry in \/etc\/passwd\.\n {2}Fix: .*DATABASE_URL/,
  );
  // PostgreSQL that root starts runs as a user that was found by its name.
  expect(() => assertNamed({ uid: 101, gid: 104 }, unnamed)).not.toThrow();
  expect(() => assertNamed(undefined)).not.toThrow();
});
