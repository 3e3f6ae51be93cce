import { randomBytes } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { createIdSealer, isSealedId } from './sealed-id.ts';

const KEY = randomBytes(32).toString('base64url');
const NEXT = randomBytes(32).toString('base64url');
const PLACE = { upstreamId: 3, modelIds: [12], keyId: null, id: 'resp_0123456789abcdef.x' };
const MADE_BY_KEY = { ...PLACE, modelIds: [], keyId: 12 };
const MADE_BY_TWO = { ...PLACE, modelIds: [12, 13] };
const MADE_BY_NONE = { ...PLACE, modelIds: [] };
const OF_CREDENTIAL = { ...PLACE, credentialId: 2 };
const OF_THREAD = { ...PLACE, thread: { promptTokens: 1_200, outputTokens: 64 } };

describe('ids of what providers store', () => {
  const ids = createIdSealer({ current: KEY });

  test('open to their place for their own account, and keep their kind', () => {
    const sealed = ids.seal(7, PLACE);
    expect(sealed).toMatch(/^resp_tg[\w-]+$/);
    expect(isSealedId(sealed)).toBe(true);
    expect(sealed).not.toContain('0123456789abcdef');
    expect(ids.open(7, sealed)).toEqual(PLACE);
    for (const place of [
      { ...PLACE, id: 'odd' },
      MADE_BY_KEY,
      MADE_BY_TWO,
      MADE_BY_NONE,
      OF_CREDENTIAL,
      OF_THREAD,
    ])
      expect(ids.open(7, ids.seal(7, place))).toEqual(place);
  });

  test('are the same for the same place, and differ by every part of it', () => {
    const all = [
      ids.seal(7, PLACE),
      ids.seal(8, PLACE),
      ids.seal(7, { ...PLACE, upstreamId: 4 }),
      ids.seal(7, { ...PLACE, modelIds: [13] }),
      ids.seal(7, MADE_BY_KEY),
      ids.seal(7, MADE_BY_TWO),
      ids.seal(7, MADE_BY_NONE),
      ids.seal(7, OF_CREDENTIAL),
      ids.seal(7, OF_THREAD),
      ids.seal(7, { ...OF_THREAD, thread: { promptTokens: 1_201, outputTokens: 64 } }),
      ids.seal(7, { ...PLACE, id: 'resp_1' }),
    ];
    expect(new Set(all).size).toBe(all.length);
    expect(ids.seal(7, PLACE)).toBe(all[0]);
  });

  test('of another account, damaged in any byte, of another kind or never sealed open to nothing', () => {
    const sealed = ids.seal(7, PLACE);
    expect(ids.open(8, sealed)).toBeNull();
    for (let at = 'resp_tg'.length; at < sealed.length - 1; at += 1) {
      const other = sealed[at] === 'A' ? 'B' : 'A';
      expect(ids.open(7, sealed.slice(0, at) + other + sealed.slice(at + 1))).toBeNull();
    }
    for (const text of [
      '',
      'resp_1',
      'resp_tg',
      sealed.slice(0, -4),
      sealed.replace('resp', 'conv'),
    ])
      expect(ids.open(7, text)).toBeNull();
    expect(isSealedId('resp_0123456789abcdef0123456789abcdef0123456789abcdef')).toBe(false);
  });

  test('open under both keys while the key is changed, and under none that is gone', () => {
    const sealed = ids.seal(7, PLACE);
    expect(createIdSealer({ current: NEXT, next: KEY }).open(7, sealed)).toEqual(PLACE);
    expect(createIdSealer({ current: NEXT }).open(7, sealed)).toBeNull();
  });
});
