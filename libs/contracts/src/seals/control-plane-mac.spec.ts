import { randomBytes } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { createControlPlaneMac, keyIdOf } from './control-plane-mac.ts';

const newKey = () => randomBytes(32).toString('base64url');
const [ONE, TWO] = [newKey(), newKey()];
const mac = createControlPlaneMac({ current: ONE });
const parts = ['installation', 1, 7];
const signed = mac.sign('snapshot-seal', parts);

test('a MAC is accepted for the parts and the purpose it was made for, and for no others', () => {
  expect(mac.isSigned('snapshot-seal', parts, signed)).toBe(true);
  expect(mac.isSigned('acknowledgement', parts, signed)).toBe(false);
  expect(mac.isSigned('snapshot-seal', ['installation', 17], signed)).toBe(false);
  expect(mac.isSigned('snapshot-seal', ['installation', '1', 7], signed)).toBe(false);
});

test.each(['', 'nonsense', `${keyIdOf(ONE)}.`, `${keyIdOf(ONE)}.${'0'.repeat(64)}`])(
  'a MAC that is %j is refused',
  (text) => expect(mac.isSigned('snapshot-seal', parts, text)).toBe(false),
);

test('a process that holds the next key reads what is signed with either; one that does not refuses it', () => {
  const next = createControlPlaneMac({ current: TWO, next: ONE }).sign('snapshot-seal', parts);
  expect(mac.isSigned('snapshot-seal', parts, next)).toBe(false);
  const both = createControlPlaneMac({ current: ONE, next: TWO });
  expect(both.isSigned('snapshot-seal', parts, next)).toBe(true);
  expect(both.isSigned('snapshot-seal', parts, signed)).toBe(true);
});
