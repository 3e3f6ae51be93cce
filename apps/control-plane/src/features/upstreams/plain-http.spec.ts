import { expect, test } from '@jest/globals';
import { parseOutboundPolicy } from '@tollgate/contracts';
import { isPlainAndPublic } from './plain-http.ts';

const policy = parseOutboundPolicy('10.0.0.0/8');
const resolvesTo =
  (...addresses: string[]) =>
  () =>
    Promise.resolve(addresses.map((address) => ({ address })));

test.each([
  ['http://provider.example/v1', ['203.0.113.9'], true],
  ['http://provider.example/v1', ['10.1.2.3', '2606:4700::1111'], true],
  ['http://llm.internal:8000/v1', ['10.1.2.3'], false],
  ['https://provider.example/v1', ['203.0.113.9'], false],
])('%s at %j: refused when saved is %s', async (url, addresses, expected) => {
  expect(await isPlainAndPublic(url, policy, resolvesTo(...addresses))).toBe(expected);
});

test('a name that cannot be looked up is left to the moment it is dialled', async () => {
  const failing = () => Promise.reject(new Error('ENOTFOUND'));
  expect(await isPlainAndPublic('http://not-yet.example/v1', policy, failing)).toBe(false);
});
