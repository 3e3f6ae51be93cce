import { expect, test } from '@jest/globals';
import { isFinalSigned, signFinal, splitFinal } from './final-mac.ts';
import { hashCredential } from './node-proof.ts';

const KEY = hashCredential('a-credential-of-tests');
const RID = '01900000-0000-7000-8000-000000000001';
const payload = JSON.stringify({ kind: 'usage', charge: 7, node: 'a","mac":"b' });
const text = signFinal({ rid: RID, payload }, KEY);

function isAccepted(signed: string, { rid = RID, key = KEY } = {}): boolean {
  const { mac, payload: read } = splitFinal(signed);
  return mac !== null && isFinalSigned({ rid, payload: read, mac }, key);
}

test('a signed final is the final itself with its MAC last, and is accepted under its request id only', () => {
  expect(JSON.parse(text)).toEqual({ ...JSON.parse(payload), mac: expect.any(String) });
  expect(splitFinal(text).payload).toBe(payload);
  expect(isAccepted(text)).toBe(true);
  expect(isAccepted(text, { rid: RID.replace('1', '2') })).toBe(false);
  expect(isAccepted(text, { key: hashCredential('another-credential') })).toBe(false);
});

test('a final of which anything was changed is refused; one without a MAC carries none', () => {
  expect(isAccepted(text.replace('"charge":7', '"charge":0'))).toBe(false);
  expect(isAccepted(`${text.slice(0, -1)},"mac":"${'0'.repeat(64)}"}`)).toBe(false);
  expect(splitFinal(payload)).toEqual({ payload, mac: null });
});
