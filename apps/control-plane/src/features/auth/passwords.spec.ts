import { expect, test } from '@jest/globals';
import { Passwords } from './passwords.ts';

const PASSWORD = 'correct horse battery';

test('a password costs what OWASP asks for, and only it is accepted', async () => {
  const passwords = new Passwords();
  const hash = await passwords.hash(PASSWORD);
  expect(hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
  expect(await passwords.verify(PASSWORD, hash)).toBe(true);
  expect(await passwords.verify(`${PASSWORD}!`, hash)).toBe(false);
});

test('a hash of other parameters is verified by its own', async () => {
  const hash = await new Passwords({ memoryKib: 32, passes: 1, lanes: 1 }).hash(PASSWORD);
  expect(await new Passwords().verify(PASSWORD, hash)).toBe(true);
});

test('an account that does not exist costs the same as a wrong password, and none of its passwords is accepted', async () => {
  const passwords = new Passwords({ memoryKib: 32, passes: 1, lanes: 1 });
  const hashed: string[] = [];
  const { hash } = passwords;
  passwords.hash = (password) => {
    hashed.push(password);
    return hash.call(passwords, password);
  };
  expect(await passwords.verify(PASSWORD, undefined)).toBe(false);
  expect(await passwords.verify(hashed[0] ?? '', undefined)).toBe(false);
  expect(hashed).toHaveLength(1);
});
