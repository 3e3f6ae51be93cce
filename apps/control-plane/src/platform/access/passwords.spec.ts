import { expect, test } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
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

test('a password is hashed under node --watch, which reports modules through the port of each thread', async () => {
  const passwords = path.join(import.meta.dirname, 'argon2-threads.ts');
  const program = `
    const { Argon2Threads } = await import(${JSON.stringify(passwords)});
    const job = { message: 'x', nonce: Buffer.alloc(16), memory: 64, passes: 1, parallelism: 1, tagLength: 16 };
    new Argon2Threads().derive(job).then(({ length }) => console.log('length', length), (error) => console.log('failed', error));`;
  const folder = mkdtempSync(path.join(tmpdir(), 'tollgate-watch-'));
  const file = path.join(folder, 'hash.mjs');
  writeFileSync(file, program);
  const child = spawn(process.execPath, ['--watch', '--no-warnings', file], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    const [said] = (await once(child.stdout, 'data')) as [Buffer];
    expect(String(said)).toBe('length 16\n');
  } finally {
    child.kill();
    rmSync(folder, { recursive: true });
  }
});
