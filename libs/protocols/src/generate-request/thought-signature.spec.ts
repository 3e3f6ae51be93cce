import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { signatureOf, toThoughtSignature } from './thought-signature.ts';

const signature = fc.string({
  minLength: 1,
  unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)),
});

test('a signature survives clients that write its bytes in either alphabet of base64', () => {
  fc.assert(
    fc.property(signature, (own) => {
      const sent = toThoughtSignature(own);
      expect(signatureOf(sent)).toBe(own);
      expect(signatureOf(Buffer.from(sent, 'base64').toString('base64url'))).toBe(own);
    }),
  );
});

test('what no provider signed as text is no signature', () => {
  expect([undefined, 1, '', '+/8='].map(signatureOf)).toEqual([null, null, null, null]);
});
