import { randomBytes } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { createSecretBox, SecretUnreadable } from './sealed-secret.ts';

const newKey = () => randomBytes(32).toString('base64url');
const [KEY, OTHER_KEY] = [newKey(), newKey()];
const place = { upstreamId: 7, baseUrl: 'https://api.example.com/v1' };
const box = createSecretBox({ current: KEY });

describe('S11: sealed secrets', () => {
  const envelope = box.seal('sk-canary-ä', place);

  test('open for their upstream and show nothing of themselves', () => {
    expect(box.open(envelope, place)).toBe('sk-canary-ä');
    expect(envelope).not.toContain('canary');
    expect(box.seal('sk-canary-ä', place)).not.toBe(envelope);
  });

  test('swapped to another row open for neither', () => {
    expect(() => box.open(envelope, { ...place, upstreamId: 8 })).toThrow(SecretUnreadable);
  });

  test('do not open with another key, damaged or cut short', () => {
    const parts = envelope.split('.');
    const changed = (index: number, change: (part: string) => string): string =>
      parts.map((part, at) => (at === index ? change(part) : part)).join('.');
    expect(() => createSecretBox({ current: OTHER_KEY }).open(envelope, place)).toThrow(
      SecretUnreadable,
    );
    for (const damaged of [
      `A${envelope}`,
      changed(parts.length - 1, (part) => `AAAA${part}`),
      changed(parts.length - 2, (part) => part.slice(0, 8)),
      parts.slice(0, -1).join('.'),
      `${envelope}.AAAA`,
      'v1....',
      changed(0, () => 'v2'),
      changed(1, () => ''),
      '',
    ])
      expect(() => box.open(damaged, place)).toThrow(SecretUnreadable);
  });

  test('open for a process that holds their key as the next one', () => {
    expect(createSecretBox({ current: OTHER_KEY, next: KEY }).open(envelope, place)).toBe(
      'sk-canary-ä',
    );
  });
});

test('S11: a secret opens for no other address of its upstream', () => {
  const envelope = box.seal('sk-canary', place);
  for (const baseUrl of ['https://evil.example/v1', 'https://api.example.com/v2', ''])
    expect(() => box.open(envelope, { ...place, baseUrl })).toThrow(SecretUnreadable);
});

test('an envelope under the key before is to be sealed again', () => {
  const envelope = box.seal('sk-canary', place);
  expect(box.isCurrent(envelope)).toBe(true);
  expect(createSecretBox({ current: OTHER_KEY, next: KEY }).isCurrent(envelope)).toBe(false);
});
