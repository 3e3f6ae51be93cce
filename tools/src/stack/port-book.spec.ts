import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { findFreePort } from '../process/free-port.ts';
import { PortBook } from './port-book.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'tollgate-ports-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('keeps a port across restarts until somebody else has taken it', async () => {
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
