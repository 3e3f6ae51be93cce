import { expect, test } from '@jest/globals';
import { holdSigner, isHoldSigned } from './hold-mac.ts';
import { hashCredential } from './node-proof.ts';

const KEY = hashCredential('a-credential-of-tests');
const use = {
  rid: '01900000-0000-7000-8000-000000000001',
  accountId: 7,
  modelId: 3,
  usedTokens: 120,
};
const mac = holdSigner(KEY)(use);

test('what a hold has used is accepted as it was signed, and with no part of it changed', () => {
  expect(isHoldSigned(use, mac, KEY)).toBe(true);
  expect(isHoldSigned({ ...use, rid: use.rid.replace(/1$/, '2') }, mac, KEY)).toBe(false);
  expect(isHoldSigned({ ...use, accountId: 8 }, mac, KEY)).toBe(false);
  expect(isHoldSigned({ ...use, modelId: 4 }, mac, KEY)).toBe(false);
  expect(isHoldSigned({ ...use, usedTokens: 121 }, mac, KEY)).toBe(false);
  expect(isHoldSigned(use, mac, hashCredential('another-credential'))).toBe(false);
});
