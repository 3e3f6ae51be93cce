import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { ArgumentCounter } from './argument-counter.ts';

test('the arguments of calls are counted wherever the text is cut, and nothing within or beside them is', () => {
  const member = fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 5 });
  const call = fc.record({ name: fc.constantFrom('f', 'get_weather'), input: member });
  fc.assert(
    fc.property(fc.array(call, { maxLength: 4 }), fc.integer({ min: 1, max: 9 }), (calls, size) => {
      const counter = new ArgumentCounter();
      for (const { name, input } of calls) {
        counter.begin();
        const text = `${name}${JSON.stringify(input)}`;
        for (let at = 0; at < text.length; at += size) counter.read(text.slice(at, at + size));
      }
      const expected = calls.reduce((sum, { input }) => sum + Object.keys(input).length, 0);
      expect(counter.count).toBe(expected);
    }),
  );
});

test('JSON that is said before or after a call is no argument of it', () => {
  const counter = new ArgumentCounter();
  counter.read('{"said":1,"before":2} ');
  expect(counter.count).toBe(0);
  counter.begin();
  counter.read('f{"a":1}{"said":1,"beh');
  counter.read('ind":2}');
  expect(counter.count).toBe(1);
});

test('a text after a call, and arguments that break off, do no harm to the next call', () => {
  const counter = new ArgumentCounter();
  counter.begin();
  counter.read('f{"a":1} note: "x": [y: ');
  expect(counter.count).toBe(1);
  counter.begin();
  counter.read('g{"b":"broken: ');
  counter.begin();
  counter.read('h{"c":{"d":1},"e":[{"f":2}]}');
  expect(counter.count).toBe(4);
});
