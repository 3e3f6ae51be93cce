import { isDeepStrictEqual } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { compileSnapshot, publishSnapshot, verifySnapshot } from './index.ts';
import { rows } from '../test/routing-rows.ts';

describe('verifySnapshot', () => {
  const published = rows.map((each) =>
    publishSnapshot({ version: 3, document: compileSnapshot(each), publishedAtMs: 1 }),
  );

  test('accepts what was published, also after a trip through JSON that reorders keys', () => {
    fc.assert(
      fc.property(published, (each) => {
        const reordered: unknown = JSON.parse(JSON.stringify(each), (_key, value: unknown) =>
          typeof value === 'object' && value !== null && !Array.isArray(value)
            ? Object.fromEntries(Object.entries(value).reverse())
            : value,
        );
        expect(verifySnapshot(reordered)).toEqual({ kind: 'ok', snapshot: each });
      }),
    );
  });

  test('refuses a document with any byte changed', () => {
    const damaged = published.chain((each) => {
      const text = JSON.stringify(each.document);
      return fc.record({
        each: fc.constant(each),
        at: fc.nat(text.length - 1),
        by: fc.integer({ min: 32, max: 126 }),
      });
    });
    fc.assert(
      fc.property(damaged, ({ each, at, by }) => {
        const text = JSON.stringify(each.document);
        const document = tryParse(text.slice(0, at) + String.fromCharCode(by) + text.slice(at + 1));
        // A text that is no JSON any more never gets this far, and a byte replaced by itself is no change.
        if (document === undefined || isDeepStrictEqual(document, each.document)) return;
        expect(verifySnapshot({ ...each, document })).toMatchObject({ kind: 'refused' });
      }),
      { numRuns: 1_000 },
    );
  });

  test('names an unknown format, a wrong checksum and a wrong shape', () => {
    const snapshot = publishSnapshot({
      version: 1,
      document: compileSnapshot({
        models: [],
        prices: [],
        upstreams: [],
        routes: [],
        spokenProtocols: [],
      }),
      publishedAtMs: 1,
    });
    expect(
      verifySnapshot({ ...snapshot, document: { ...snapshot.document, format: 2 } }),
    ).toMatchObject({ reason: 'format_unknown' });
    expect(verifySnapshot({ ...snapshot, checksum: 'a'.repeat(64) })).toMatchObject({
      reason: 'checksum_mismatch',
    });
    expect(verifySnapshot({ ...snapshot, extra: 1 })).toMatchObject({ reason: 'schema' });
    expect(verifySnapshot('nonsense')).toMatchObject({ reason: 'schema' });
  });
});

function tryParse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
