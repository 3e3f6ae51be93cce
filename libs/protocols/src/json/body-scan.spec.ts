import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { BodyScan } from './body-scan.ts';
import { layoutObject } from './json-layout.ts';

const LIMITS = { values: 1_000, depth: 20, fields: 90 };
const NARROW = { values: 30, depth: 4, fields: 2 };

function scanned(source: string, limits = LIMITS): BodyScan {
  const scan = new BodyScan(limits).begin(Buffer.from(source));
  scan.advance();
  return scan;
}

const blank = fc.constantFrom('', ' ', '\n\t', '  \r\n');

describe('one pass over the bytes of a body', () => {
  test.each([
    ['{"model":1,"x":{"model":2},"mod\\u0065l":3}', 'model'],
    ['{"model":1,"x":{"model":2}}', null],
    ['{"x":[{"a":1},{"a":2,"b":{"c":1,"\\u0063":2}}]}', 'c'],
    ['{"x":["a","a",{"a":"a"}],"a":"a"}', null],
    ['{"\\u212a":1,"k":2,"K":3}', null],
    ['{"":1,"x":{"":{"":[]}}}', null],
    ['{"":1,"x":{},"":2}', ''],
  ])('a name that stands twice in one object is found: %s', (source, name) => {
    expect(scanned(source).duplicate).toBe(name);
  });

  test('a name twice among any number of names is found, however it is escaped, and at any depth', () => {
    const escaped = (name: string): string =>
      [...name].map((_, at) => `\\u${name.charCodeAt(at).toString(16).padStart(4, '0')}`).join('');
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.stringMatching(/^[a-z]{1,3}$/), { minLength: 1, maxLength: 80 }),
        fc.nat(),
        fc.nat(3),
        (names, pick, depth) => {
          const twice = names[pick % names.length] ?? '';
          const wrapped = (members: string[]): string =>
            `${'{"x":['.repeat(depth)}{${members.join(',')}}${']}'.repeat(depth)}`;
          const once = names.map((name) => `"${name}":"${name}"`);
          expect(scanned(wrapped(once)).duplicate).toBeNull();
          expect(scanned(wrapped([...once, `"${escaped(twice)}":{}`])).duplicate).toBe(twice);
        },
      ),
    );
  });

  test('finds the members that a look at the object alone finds, in pieces of any size', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 6 }),
        blank,
        fc.integer({ min: 1, max: 40 }),
        (value, space, piece) => {
          const source = `${space}${JSON.stringify(value, null, space)}${space}`;
          const whole = new BodyScan(LIMITS);
          whole.begin(Buffer.from(source));
          while (!whole.advance(piece));
          expect(whole.layout).toEqual(layoutObject(Buffer.from(source)));
          expect(whole.duplicate).toBeNull();
        },
      ),
    );
  });

  test('counts values and levels outside strings, and the fields of the object alone', () => {
    const narrow = (source: string): BodyScan => scanned(source, NARROW);
    expect(narrow('{"a":[[1],{}],"b":"[[[[[,,,,"}').isTooDeep).toBe(false);
    expect(narrow('{"a":[[[1]]]}').isTooDeep).toBe(false);
    expect(narrow('{"a":[[[[1]]]]}').isTooDeep).toBe(true);
    expect(narrow(`{"a":[${'0,'.repeat(28)}0]}`).hasTooManyValues).toBe(false);
    expect(narrow(`{"a":[${'0,'.repeat(29)}0]}`).hasTooManyValues).toBe(true);
    expect(narrow('{"a":{"x":1,"y":2,"z":3},"b":1}').hasTooManyFields).toBe(false);
    expect(narrow('{"a":1,"b":1,"c":1}').hasTooManyFields).toBe(true);
  });

  test('one scan reads one body after the other', () => {
    const scan = new BodyScan(NARROW);
    for (const cut of ['{"a":{"b":1', '{"a":1,"a":2}', '[[[[[[', `[${'0,'.repeat(40)}`])
      scan.begin(Buffer.from(cut)).advance();
    scan.begin(Buffer.from('{"a":{"b":1}}')).advance();
    expect(scan.layout?.members.map(({ key }) => key)).toEqual(['a']);
    expect([scan.duplicate, scan.isTooDeep, scan.hasTooManyValues]).toEqual([null, false, false]);
  });

  test('text that is no JSON ends a scan like any other', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...'{}[],:"\\ ux01'), { maxLength: 60 }), (pieces) => {
        expect(() => scanned(pieces.join(''))).not.toThrow();
      }),
    );
  });
});
