import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { findFreePort } from '../process/free-port.ts';
import { withFreshPorts } from './fresh-ports.ts';
import { PortBook } from './port-book.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'tollgate-ports-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('keeps a port across restarts until another program has taken it', async () => {
  const port = await new PortBook(folder).claim('front-door');
  expect(await new PortBook(folder).claim('front-door')).toBe(port);
  const other = createServer().listen(port, '127.0.0.1');
  await once(other, 'listening');
  expect(await new PortBook(folder).claim('front-door')).not.toBe(port);
  other.close();
});

test('never gives one port to two processes', async () => {
  const port = await findFreePort();
  const book = new PortBook(folder);
  expect(await book.claim('one', [port])).toBe(port);
  expect(await book.claim('two', [port])).not.toBe(port);
});

test('takes the port that was asked for over the remembered one, and says so when it is taken', async () => {
  await new PortBook(folder).claim('front-door');
  const asked = await findFreePort();
  expect(await new PortBook(folder).claimExactly('front-door', asked)).toBe(asked);
  const other = createServer().listen(asked, '127.0.0.1');
  await once(other, 'listening');
  await expect(new PortBook(folder).claimExactly('front-door', asked)).rejects.toThrow(
    /taken[^]*Fix:/,
  );
  other.close();
});

test('a port that another program takes between choosing and binding is chosen again', async () => {
  const book = new PortBook(folder);
  const thieves: ReturnType<typeof createServer>[] = [];
  const lines: string[] = [];
  const tried: number[] = [];
  const port = await withFreshPorts(
    book,
    ['redis'],
    async () => {
      const claimed = await book.claim('redis');
      tried.push(claimed);
      if (tried.length === 1) {
        const thief = createServer().listen(claimed, '127.0.0.1');
        await once(thief, 'listening');
        thieves.push(thief);
      }
      const own = createServer();
      await new Promise<void>((resolve, reject) => {
        own.once('error', reject);
        own.listen(claimed, '127.0.0.1', resolve);
      });
      own.close();
      return claimed;
    },
    (line) => lines.push(line),
  );
  for (const thief of thieves) thief.close();
  expect(tried).toHaveLength(2);
  expect(port).not.toBe(tried[0]);
  expect(lines).toEqual(['Another program took the port of redis; choosing another one.']);
});

test('a start that fails for another reason is not repeated', async () => {
  const book = new PortBook(folder);
  let starts = 0;
  const failing = withFreshPorts(
    book,
    ['redis'],
    async () => {
      starts += 1;
      await book.claim('redis');
      throw new Error('broken data folder');
    },
    () => {},
  );
  await expect(failing).rejects.toThrow('broken data folder');
  expect(starts).toBe(1);
});
