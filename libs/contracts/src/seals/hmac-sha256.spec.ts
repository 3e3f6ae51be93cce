import { createHmac } from 'node:crypto';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { hmacSha256 } from './hmac-sha256.ts';

const aKey = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes));
const aText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 200 }),
  fc.tuple(fc.string({ unit: 'binary' }), fc.nat(500)).map(([text, times]) => text.repeat(times)),
);
/** Holds a text beyond the buffer that is there at first, and one that is no text. */
const LARGE = ['x', '€', '\ud800'].map((unit): [Buffer, string] => [
  Buffer.alloc(32, 7),
  unit.repeat(20_000),
]);

test('it is the HMAC that OpenSSL makes, of texts and keys of all kinds, one after the other', () => {
  fc.assert(
    fc.property(aKey, aText, (key, text) => {
      const expected = createHmac('sha256', key).update(text).digest('hex');
      expect(hmacSha256(text, key.toString('hex'))).toBe(expected);
    }),
    { numRuns: 100, examples: LARGE },
  );
});

test('a key of another length is refused', () => {
  expect(() => hmacSha256('text', 'ab')).toThrow(RangeError);
});
