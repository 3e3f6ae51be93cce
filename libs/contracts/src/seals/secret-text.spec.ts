import { randomBytes } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { secretFault } from './secret-text.ts';

const random32 = fc.constant(undefined).map(() => randomBytes(32));

describe('a secret', () => {
  test('of 32 random bytes is accepted in hex, base64url and base64, also as it is issued to nodes', () => {
    fc.assert(
      fc.property(random32, (bytes) => {
        const texts = [
          bytes.toString('hex'),
          bytes.toString('hex').toUpperCase(),
          bytes.toString('base64'),
          bytes.toString('base64url'),
          `tg-node-${bytes.toString('base64url')}`,
        ];
        expect(texts.map(secretFault)).toEqual(texts.map(() => undefined));
      }),
    );
  });

  test('of fewer bytes is refused in every spelling', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 31 }), (length) => {
        const bytes = randomBytes(length);
        for (const encoding of ['hex', 'base64', 'base64url'] as const)
          expect(secretFault(bytes.toString(encoding))).toMatch(/^must be 32 random bytes/);
      }),
    );
  });

  test.each([
    'change-me-change-me-change-me-change-me-change-me',
    'a'.repeat(64),
    '0123456789abcdef'.repeat(4),
    'Zm9vYmFyLXF1dXg'.repeat(3),
    'this-is-an-example-k3Jx9QpLw2Vb7Nz-of-a-credential0',
    Buffer.alloc(32, 7).toString('base64url'),
  ])('that is an example is refused: %s', (text) => {
    expect(secretFault(text)).toMatch(/^must be random/);
  });

  test.each(['correct horse battery staple and some more words', 'ü'.repeat(64)])(
    'that is no encoded bytes is refused: %s',
    (text) => {
      expect(secretFault(text)).toMatch(/^must be 32 random bytes/);
    },
  );
});
