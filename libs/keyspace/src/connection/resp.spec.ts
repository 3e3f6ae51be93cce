import { expect, test } from '@jest/globals';
import { RespError, RespReader } from './resp.ts';

const REPLIES = Buffer.from(
  '*4\r\n$2\r\nOK\r\n:-12\r\n$-1\r\n*2\r\n+näh\r\n*0\r\n-ERR no\r\n$0\r\n\r\n$4\r\n\r\n\r\n\r\n*-1\r\n',
);
const READ = [['OK', -12, null, ['näh', []]], new RespError('ERR no'), '', '\r\n\r\n', null];

test('replies are read whole wherever packets cut them', () => {
  for (let first = 0; first <= REPLIES.length; first += 1)
    for (let second = first; second <= REPLIES.length; second += 1) {
      const read: unknown[] = [];
      const reader = new RespReader((reply) => read.push(reply));
      const block = Buffer.alloc(REPLIES.length);
      // A socket reads into the same memory each time, too.
      for (const [from, to] of [
        [0, first],
        [first, second],
        [second, REPLIES.length],
      ] as const)
        reader.push(block.subarray(0, REPLIES.copy(block, 0, from, to)));
      expect(read).toEqual(READ);
    }
});

test.each(['HTTP/1.1 400\r\n', '%1\r\n', ':1a\r\n', '$x\r\n'])(
  'bytes that are no RESP2 are refused: %j',
  (text) => {
    const reader = new RespReader(() => undefined);
    expect(() => reader.push(Buffer.from(text))).toThrow();
  },
);
