import { expect, test } from '@jest/globals';
import { argon2Sync, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { Argon2Threads, HashingBusy } from './argon2-threads.ts';

const job = (message = 'a password') => ({
  message,
  nonce: randomBytes(16),
  memory: 19_456,
  passes: 2,
  parallelism: 1,
  tagLength: 32,
});

test('a thread makes what node:crypto makes', async () => {
  const one = job();
  expect(await new Argon2Threads().derive(one)).toEqual(argon2Sync('argon2id', one));
});

test('a bounded number waits, the rest is refused at once, and all that waited is done', async () => {
  const threads = new Argon2Threads();
  const outcomes = await Promise.all(
    Array.from({ length: 400 }, () =>
      threads.derive(job()).then(
        () => 'done',
        (error: unknown) => (error instanceof HashingBusy ? 'busy' : 'failed'),
      ),
    ),
  );
  const count = (which: string) => outcomes.filter((outcome) => outcome === which).length;
  expect(count('failed')).toBe(0);
  expect(count('busy')).toBeGreaterThan(100);
  expect(count('done')).toBeGreaterThanOrEqual(50);
  await expect(threads.derive(job())).resolves.toHaveLength(32);
}, 180_000);

test('the thread pool that Node shares stays free meanwhile', async () => {
  const threads = new Argon2Threads();
  const order: string[] = [];
  const flood = Promise.all(Array.from({ length: 40 }, () => threads.derive(job()))).then(() =>
    order.push('hashed'),
  );
  for (let read = 0; read < 20; read += 1) await readFile(import.meta.filename);
  order.push('read');
  await flood;
  expect(order).toEqual(['read', 'hashed']);
}, 180_000);

test('a job that argon2 refuses fails alone', async () => {
  const threads = new Argon2Threads();
  await expect(threads.derive({ ...job(), passes: 0 })).rejects.toThrow();
  await expect(threads.derive(job())).resolves.toHaveLength(32);
});
