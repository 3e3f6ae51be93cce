import { randomBytes } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { createSecretBox, SecretUnreadable, upstreamSecretOwner } from './sealed-secret.ts';

describe('S11: sealed secrets', () => {
  const box = createSecretBox(randomBytes(32).toString('base64url'));
  const envelope = box.seal('sk-canary-ä', upstreamSecretOwner(7));

  test('open for their owner and show nothing of themselves', () => {
    expect(box.open(envelope, upstreamSecretOwner(7))).toBe('sk-canary-ä');
    expect(envelope).not.toContain('canary');
    expect(box.seal('sk-canary-ä', upstreamSecretOwner(7))).not.toBe(envelope);
  });

  test('swapped to another row open for neither', () => {
    expect(() => box.open(envelope, upstreamSecretOwner(8))).toThrow(SecretUnreadable);
  });

  test('do not open with another key, damaged or cut short', () => {
    const last = envelope.endsWith('A') ? 'B' : 'A';
    const [version, nonce, tag, ciphertext] = envelope.split('.');
    expect(() =>
      createSecretBox(randomBytes(32).toString('base64url')).open(envelope, upstreamSecretOwner(7)),
    ).toThrow(SecretUnreadable);
    for (const damaged of [
      `${last}${envelope}`,
      `${version}.${nonce}.${tag}.AAAA${ciphertext}`,
      `${version}.${nonce}.${tag?.slice(0, 8)}.${ciphertext}`,
      `${version}.${nonce}.${tag}`,
      'v1...',
      '',
    ]) {
      expect(() => box.open(damaged, upstreamSecretOwner(7))).toThrow(SecretUnreadable);
    }
  });
});
