import { describe, expect, test } from '@jest/globals';
import { checkBaseUrl, isAddressAllowed, parseOutboundPolicy } from './outbound-address.ts';

const closed = parseOutboundPolicy('');
const loopback = parseOutboundPolicy('127.0.0.0/8, ::1');

describe('S1: private, loopback, link-local and metadata addresses', () => {
  test.each([
    '127.0.0.1',
    '127.8.8.8',
    '[::1]',
    '0.0.0.0',
    '[::]',
    '169.254.169.254',
    '[fd00::1]',
    '[fd00:ec2::254]',
    '[fe80::1]',
    '100.64.0.1',
    '100.100.100.200',
    '10.0.0.1',
    '172.16.0.1',
    '192.168.1.1',
    '192.0.0.192',
    '198.18.0.1',
    '224.0.0.1',
    '255.255.255.255',
    '168.63.129.16',
    '[64:ff9b::7f00:1]',
    '[2002:7f00:1::]',
    '[::7f00:1]',
    '[4000::1]',
    'localhost',
    'api.localhost',
  ])('%s is refused at save', (host) => {
    expect(checkBaseUrl(`https://${host}/v1`, closed)).toMatchObject({ kind: 'refused' });
  });

  test.each([
    '127.0.0.1',
    '::1',
    '::ffff:127.0.0.1',
    '169.254.169.254',
    'fd00::1',
    '100.64.0.1',
    'fe80::1%eth0',
    'not an address',
    '',
  ])('%s is refused when dialled', (address) => {
    expect(isAddressAllowed(address, closed, { isEncrypted: true })).toBe(false);
  });

  test('a range the operator names is allowed, unencrypted too, and nothing beside it', () => {
    expect(checkBaseUrl('http://127.0.0.1:9000/v1/', loopback)).toEqual({
      kind: 'ok',
      baseUrl: 'http://127.0.0.1:9000/v1',
    });
    expect(checkBaseUrl('http://[::1]:9000/v1', loopback)).toMatchObject({ kind: 'ok' });
    expect(checkBaseUrl('http://localhost:9000', loopback)).toEqual({
      kind: 'ok',
      baseUrl: 'http://localhost:9000',
    });
    expect(checkBaseUrl('http://10.0.0.1/', loopback)).toMatchObject({ kind: 'refused' });
    expect(isAddressAllowed('::ffff:127.0.0.1', loopback, { isEncrypted: false })).toBe(true);
    expect(isAddressAllowed('10.0.0.1', loopback, { isEncrypted: true })).toBe(false);
  });
});

describe('S2: addresses in disguise', () => {
  test.each([
    'https://2130706433/',
    'https://0x7f000001/',
    'https://0177.0.0.1/',
    'https://127.1/',
    'https://[::ffff:127.0.0.1]/',
    'https://[::ffff:8.8.8.8]/',
    'https://127.0.0.1./',
    'https://api.example.com./',
    'https://134744072/',
    'https://user:pass@api.example.com/',
    'https://api.example.com@127.0.0.1/',
    'https://exаmple.com/',
    'https://①②⑦.0.0.1/',
    'https://api.example.com\\@127.0.0.1/',
    'https://api.exam\tple.com/',
    'https:api.example.com',
    'https:///api.example.com',
  ])('%j is refused after canonical parse', (text) => {
    expect(checkBaseUrl(text, closed)).toMatchObject({ kind: 'refused' });
  });
});

describe('S5: schemes and ports', () => {
  test.each([
    'file:///etc/passwd',
    'gopher://api.example.com/',
    'ftp://api.example.com/',
    'javascript:alert(1)',
    'http://api.example.com/',
    'http://8.8.8.8/',
    'https://api.example.com:22/',
    'https://api.example.com:6379/',
    'https://api.example.com:0/',
    'https://a.test/?x=1',
    'https://a.test/#x',
    'https://a.test/?',
    '/v1',
    '',
  ])('%j is refused', (text) => {
    expect(checkBaseUrl(text, closed)).toMatchObject({ kind: 'refused' });
  });

  test('an unencrypted public address is refused when dialled, whatever the operator allows', () => {
    expect(isAddressAllowed('8.8.8.8', loopback, { isEncrypted: false })).toBe(false);
    expect(isAddressAllowed('8.8.8.8', closed, { isEncrypted: true })).toBe(true);
    expect(isAddressAllowed('2606:4700::1111', closed, { isEncrypted: true })).toBe(true);
  });

  test.each([
    ['https://api.openai.com/v1/', 'https://api.openai.com/v1'],
    ['https://API.example.com:8443', 'https://api.example.com:8443'],
    ['https://8.8.8.8/v1', 'https://8.8.8.8/v1'],
    ['https://[2606:4700::1111]/v1', 'https://[2606:4700::1111]/v1'],
  ])('%s is accepted in its canonical form', (text, baseUrl) => {
    expect(checkBaseUrl(text, closed)).toEqual({ kind: 'ok', baseUrl });
  });
});

test('a range that is none is named', () => {
  expect(() => parseOutboundPolicy('10.0.0.0/8, nonsense')).toThrow('"nonsense"');
});
