import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { closedJson } from './closed-json.ts';

const read = (text: string): unknown => JSON.parse(closedJson(Buffer.from(text)).toString('utf8'));

describe('a JSON text that was cut', () => {
  test('is whole again wherever it was cut, and is itself when nothing is missing', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue()),
        fc.nat(),
        fc.boolean(),
        (value, place, isSpaced) => {
          const text = JSON.stringify(value, null, isSpaced ? 2 : 0);
          const bytes = Buffer.from(text);
          const cut = bytes.subarray(0, 1 + (place % bytes.length));
          expect(() => read(cut.toString('latin1'))).not.toThrow();
          expect(read(text)).toEqual(JSON.parse(text));
        },
      ),
      { numRuns: 300 },
    );
  });

  test.each<[string, unknown]>([
    ['{"a":"so far', { a: 'so far' }],
    ['{"a":"x","b":"so far\\', { a: 'x', b: 'so far' }],
    ['{"a":"x\\\\', { a: 'x\\' }],
    ['{"a":"x\\u00e', { a: 'x' }],
    ['{"a":"x\\u00e9', { a: 'xé' }],
    ['{"a":"x"', { a: 'x' }],
    ['{"a":"x","b', { a: 'x' }],
    ['{"a":1,"b":12', { a: 1 }],
    ['{"a":[1,2,30', { a: [1, 2] }],
    ['{"a":[{"b":"c"},{"d":tr', { a: [{ b: 'c' }, {}] }],
    ['{"a":[1,2,{"b":{', { a: [1, 2, { b: {} }] }],
  ])('keeps what arrived: %s', (text, value) => expect(read(text)).toEqual(value));

  test.each(['', '<html>', '   '])('stays none where it was none: %j', (text) =>
    expect(() => read(text)).toThrow(),
  );
});
