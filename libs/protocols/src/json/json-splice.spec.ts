import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { layoutArray, layoutObject } from './json-layout.ts';
import type { JsonLayout } from './json-layout.ts';
import { skipString } from './json-string.ts';
import { applyPatches, editObject } from './json-splice.ts';
import type { MemberEdits } from './json-splice.ts';

function layoutOf(source: string): JsonLayout {
  const layout = layoutObject(Buffer.from(source));
  if (!layout) throw new Error('no object');
  return layout;
}

function edited(source: string, edits: MemberEdits): string {
  return Buffer.from(
    applyPatches(Buffer.from(source), editObject(layoutOf(source), edits)),
  ).toString('utf8');
}

/** Makes JSON text of an object with arbitrary blanks between its tokens. */
const blank = fc.constantFrom('', ' ', '\n\t', '  \r\n');
const objectText = fc
  .tuple(
    fc.dictionary(
      fc.string({ unit: 'binary' }).filter((key) => key !== '__proto__'),
      fc.jsonValue({ maxDepth: 4 }),
      { maxKeys: 8 },
    ),
    blank,
    blank,
  )
  .map(([value, left, right]) => {
    const members = Object.entries(value).map(
      ([key, item]) =>
        `${left}${JSON.stringify(key)}${right}:${left}${JSON.stringify(item)}${right}`,
    );
    return { value, text: `${right}{${members.join(',')}${left}}${right}` };
  });

describe('json splice', () => {
  test('finds every member of any object, as JSON.parse reads it', () => {
    fc.assert(
      fc.property(objectText, ({ value, text }) => {
        const bytes = Buffer.from(text);
        const found = layoutOf(text).members.map(({ key, valueStart, valueEnd }) => [
          key,
          JSON.parse(bytes.toString('utf8', valueStart, valueEnd)),
        ]);
        expect(found).toEqual(Object.entries(JSON.parse(JSON.stringify(value))));
      }),
    );
  });

  test('edits any member and leaves the meaning of all others alone', () => {
    fc.assert(
      fc.property(
        objectText,
        fc.array(fc.tuple(fc.nat(9), fc.option(fc.jsonValue({ maxDepth: 2 }))), { maxLength: 4 }),
        ({ text }, wishes) => {
          const before = Object.entries(JSON.parse(text));
          const edits = Object.fromEntries(
            wishes.map(([at, value]) => [
              before[at]?.[0] ?? `new ${at}`,
              value === null ? null : JSON.stringify(value),
            ]),
          );
          const expected = new Map<string, unknown>(before);
          for (const [key, value] of Object.entries(edits)) {
            if (value === null) expected.delete(key);
            else expected.set(key, JSON.parse(value));
          }
          expect(new Map(Object.entries(JSON.parse(edited(text, edits))))).toEqual(expected);
        },
      ),
    );
  });

  test('changes the bytes of the named value only: big integers, order, escapes and blanks survive', () => {
    const source = '{ "b":9007199254740993 , "model":"a\\u0062",\n"sig":"\\u00e9\\/==","a":1.0e+2}';
    expect(edited(source, { model: '"x"' })).toBe(source.replace('"a\\u0062"', '"x"'));
  });

  test('removes first, middle, last and all members', () => {
    expect(edited('{"a":1,"b":2,"c":3}', { a: null })).toBe('{"b":2,"c":3}');
    expect(edited('{"a":1,"b":2,"c":3}', { b: null })).toBe('{"a":1,"c":3}');
    expect(edited('{"a":1,"b":2,"c":3}', { c: null, b: null })).toBe('{"a":1}');
    expect(edited('{"a":1,"b":2}', { a: null, b: null, c: '3' })).toBe('{"c":3}');
    expect(edited('{}', { c: '3' })).toBe('{"c":3}');
  });

  test('strings of any length and escaping end where JSON.parse ends them', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('\\', '"', 'a', 'é', 'x'.repeat(70), '\n'), { maxLength: 40 }),
        (pieces) => {
          const text = JSON.stringify(pieces.join(''));
          expect(skipString(Buffer.from(`${text}:"`), 0)).toBe(Buffer.byteLength(text));
        },
      ),
    );
  });

  test('finds the elements of arrays', () => {
    const source = Buffer.from('[ {"a":[1,2]} , "],[" ,3]');
    expect(
      layoutArray(source, 0).map(({ start, end }) => source.toString('utf8', start, end)),
    ).toEqual(['{"a":[1,2]}', '"],["', '3']);
  });
});
