import { expect, test } from '@jest/globals';
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import {
  brotliCompressSync,
  deflateSync,
  gzipSync,
  zstdCompressSync,
  type InputType,
} from 'node:zlib';
import { Refusal } from '../refusals.ts';
import { BodyQuota } from './body-quota.ts';
import { ClientGone, readBody } from './read-body.ts';

const BYTES = 4_000_000;
const bytesMax = 8_000_000;

function sent(body: Buffer, encoding: string): IncomingMessage {
  const incoming = new IncomingMessage(new Socket());
  incoming.headers['content-encoding'] = encoding;
  incoming.headers['content-length'] = String(body.length);
  incoming.push(body);
  incoming.push(null);
  return incoming;
}

test('a client that disconnected before its body was requested is not waited for', async () => {
  const incoming = new IncomingMessage(new Socket());
  incoming.headers['content-length'] = '1000000';
  incoming.destroy();
  await expect(
    readBody(incoming, { bytesMax: 2_000_000, take: () => undefined }),
  ).rejects.toBeInstanceOf(ClientGone);
});

test.each<[string, (bytes: InputType) => Buffer]>([
  ['gzip', gzipSync],
  ['x-gzip', gzipSync],
  ['deflate', deflateSync],
  ['br', brotliCompressSync],
  ['zstd', zstdCompressSync],
])(
  'a small body of %s that unfolds takes its room as it unfolds, not once it is in memory',
  async (encoding, compress) => {
    const body = compress(Buffer.alloc(BYTES, 'a'));
    const pieces: number[] = [];
    const decoded = await readBody(sent(body, encoding), {
      bytesMax,
      take: (bytes) => void pieces.push(bytes),
    });
    expect(decoded.equals(Buffer.alloc(BYTES, 'a'))).toBe(true);
    expect(pieces.reduce((sum, bytes) => sum + bytes, 0)).toBe(body.length + BYTES);
    expect(Math.max(...pieces)).toBeLessThanOrEqual(64 * 1024);

    let taken = 0;
    const full = new Refusal('uploads_exceeded');
    const take = (bytes: number) => {
      taken += bytes;
      if (taken > 500_000) throw full;
    };
    await expect(readBody(sent(body, encoding), { bytesMax, take })).rejects.toBe(full);
    expect(taken).toBeLessThan(600_000);
    await expect(
      readBody(sent(body, encoding), { bytesMax: BYTES - 1, take: () => undefined }),
    ).rejects.toMatchObject({ code: 'body_too_large' });
    await expect(
      readBody(sent(body.subarray(0, -4), encoding), { bytesMax, take: () => undefined }),
    ).rejects.toMatchObject({ code: 'body_unreadable' });
  },
);

test('compressed uploads of one account at the same time do not refuse each other: as many come through as fit', async () => {
  const quota = new BodyQuota(BYTES);
  const body = gzipSync(Buffer.alloc(BYTES, 'a'));
  const read = async (accountId: number): Promise<string> => {
    const take = quota.enter().takeFor(accountId);
    return readBody(sent(body, 'gzip'), { bytesMax, take }).then(
      () => 'read',
      (error: Refusal) => error.code,
    );
  };
  const sentAtOnce = Array.from({ length: 14 }, () => read(1));
  const other = read(2);
  const answers = await Promise.all(sentAtOnce);
  // At least half of the room of 16 bodies is served, less what the others had sent of theirs.
  expect(answers.filter((answer) => answer === 'read').length).toBeGreaterThanOrEqual(6);
  expect(new Set(answers)).toEqual(new Set(['read', 'uploads_exceeded']));
  expect(await other).toBe('read');
});
