import { describe, expect, test } from '@jest/globals';
import { addressHex, InvalidAllowlistEntry, normaliseAllowlist } from './address-allowlist.ts';

describe('an address allow-list', () => {
  test('becomes comparable: IPv4 mapped, host bits zeroed, doubles dropped', () => {
    expect(normaliseAllowlist('10.1.2.3/8, 2001:db8::1/32,1.2.3.4, 1.2.3.4')).toBe(
      '00000000000000000000ffff0a000000/104,20010db8000000000000000000000000/32,00000000000000000000ffff01020304/128',
    );
    expect(normaliseAllowlist('::ffff:10.0.0.0/104')).toBe(normaliseAllowlist('10.0.0.0/8'));
    expect(normaliseAllowlist('::/0')).toBe(`${'0'.repeat(32)}/0`);
    expect(normaliseAllowlist('255.255.255.255/9')).toBe('00000000000000000000ffffff800000/105');
  });

  test('that names nothing lets every address in', () => {
    for (const text of ['', '  ', ',', ' , ']) expect(normaliseAllowlist(text)).toBe('');
  });

  test('names the entry that cannot be read', () => {
    for (const bad of [
      '10.0.0.256',
      '10.0.0',
      '010.0.0.1',
      '0x0a000001',
      '1.2.3.4/33',
      '::1/129',
      '1.2.3.4/',
      '1.2.3.4/-1',
      '1.2.3.4/8/8',
      'fe80::1%eth0',
      'example.com',
      '*',
    ]) {
      expect(() => normaliseAllowlist(`10.0.0.0/8, ${bad}`)).toThrow(
        new InvalidAllowlistEntry(bad),
      );
    }
  });
});

describe('an address', () => {
  test('is 32 hex digits, the same for both spellings of an IPv4 address', () => {
    expect(addressHex('10.1.2.3')).toBe('00000000000000000000ffff0a010203');
    expect(addressHex('::ffff:10.1.2.3')).toBe(addressHex('10.1.2.3'));
    expect(addressHex('fe80::1%eth0')).toBe(addressHex('fe80::1'));
    expect(addressHex('2001:DB8::7')).toBe('20010db8000000000000000000000007');
  });

  test('that is none is unknown', () => {
    for (const text of ['', 'localhost', '1.2.3', 'unix:/tmp/x']) expect(addressHex(text)).toBe('');
  });
});
