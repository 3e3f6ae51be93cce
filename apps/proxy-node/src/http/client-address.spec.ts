import type { IncomingMessage } from 'node:http';
import { expect, test } from '@jest/globals';
import { clientAddressHex } from './client-address.ts';
import { parseRanges } from '@tollgate/contracts';

const from = (remoteAddress: string, forwarded?: string) =>
  ({
    socket: { remoteAddress },
    headers: { 'x-forwarded-for': forwarded },
  }) as unknown as IncomingMessage;
const hexOf = (ipv4: string) =>
  `00000000000000000000ffff${ipv4
    .split('.')
    .map((part) => Number(part).toString(16).padStart(2, '0'))
    .join('')}`;

test('is the peer when no proxy is trusted, whatever it claims', () => {
  expect(clientAddressHex(from('::ffff:203.0.113.9', '10.0.0.1'), [])).toBe(hexOf('203.0.113.9'));
});

test('CVE-2026-110726: reads X-Forwarded-For only as far as trusted proxies wrote it', () => {
  const trusted = parseRanges('127.0.0.1, 10.0.0.0/8');
  expect(clientAddressHex(from('127.0.0.1', '1.2.3.4, 198.51.100.7, 10.1.1.1'), trusted)).toBe(
    hexOf('198.51.100.7'),
  );
  expect(clientAddressHex(from('203.0.113.9', '1.2.3.4'), trusted)).toBe(hexOf('203.0.113.9'));
  expect(clientAddressHex(from('127.0.0.1', 'nonsense'), trusted)).toBe('');
});

test('writes IPv6 as 32 hex digits', () => {
  expect(clientAddressHex(from('2001:db8::1'), [])).toBe('20010db8000000000000000000000001');
});
