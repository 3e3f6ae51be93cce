import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { TOKEN_CLASSES, type TokenClassRow } from './token-classes.ts';
import { tokenFields } from './token-fields.ts';
import {
  NO_USAGE,
  outputTokensOf,
  outputUpTo,
  promptTokensOf,
  tokenFieldsOf,
  USAGE_ROWS,
  usageOfFinal,
} from './token-usage.ts';

const ROWS: readonly TokenClassRow[] = TOKEN_CLASSES;
const usage = fc.record(tokenFields(fc.nat(1_000_000))).map(usageOfFinal);

describe('the table of token classes', () => {
  test('names each class once', () => {
    for (const property of ['name', 'key'] as const)
      expect(new Set(ROWS.map((row) => row[property])).size).toBe(ROWS.length);
  });

  test('an informative or optional class of tokens has a charged parent of its side that is always present; calls have none', () => {
    for (const { isCharged, isOptional, parent, side, unit } of ROWS) {
      expect(parent !== null).toBe(unit === 'token' && (!isCharged || isOptional));
      if (parent === null) continue;
      expect(ROWS.find(({ name }) => name === parent)).toMatchObject({
        side,
        isCharged: true,
        isOptional: false,
      });
    }
  });
});

describe('usage by class', () => {
  test('survives a final, and classes that a final does not name are 0', () => {
    fc.assert(
      fc.property(usage, (each) => expect(usageOfFinal(tokenFieldsOf(each))).toEqual(each)),
    );
    expect(usageOfFinal({})).toEqual(NO_USAGE);
    for (const { field, isOptional } of USAGE_ROWS)
      expect(Object.hasOwn(tokenFieldsOf(NO_USAGE), field)).toBe(!isOptional);
  });

  test('counts each charged token on one side, once', () => {
    fc.assert(
      fc.property(usage, (each) => {
        const charged = ROWS.filter((row) => row.isCharged && row.unit === 'token');
        const sum = charged.reduce((total, row) => total + each[row.key as keyof typeof each], 0);
        expect(promptTokensOf(each) + outputTokensOf(each)).toBe(sum);
      }),
    );
  });

  test('output is cut to a limit, never raised, and parts stay within their whole', () => {
    fc.assert(
      fc.property(usage, fc.nat(3_000_000), (each, limit) => {
        const cut = outputUpTo(each, limit);
        expect(outputTokensOf(cut)).toBe(Math.min(outputTokensOf(each), limit));
        expect(cut.reasoning).toBe(Math.min(each.reasoning, cut.output));
      }),
    );
  });
});
