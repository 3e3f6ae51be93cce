import { expect, test } from '@jest/globals';
import { FORMATS, laterFormat, READ_FORMATS, readFormatsOf, writableFormats } from './formats.ts';

test('a format above 1 may be written once every process reads it, and not while one names a lower number or none', () => {
  expect(writableFormats([FORMATS, FORMATS])).toEqual({ report: 2 });
  expect(writableFormats([FORMATS, { ...FORMATS, report: 1 }])).toEqual({});
  expect(writableFormats([FORMATS, {}])).toEqual({});
});

test('a process of a later release does not raise what this one writes', () => {
  expect(writableFormats([FORMATS, { ...FORMATS, report: 9, event: 3 }])).toEqual({ report: 2 });
});

test('abilities say what a process reads, beside abilities of other kinds; those of an earlier release say nothing', () => {
  expect(readFormatsOf(['final_mac', ...READ_FORMATS, 'later:7'])).toEqual({
    ...FORMATS,
    later: 7,
  });
  expect(readFormatsOf(['final_mac', 'hold_mac'])).toBeUndefined();
});

test('what has no number is of format 1; a number that is not read is of a later release', () => {
  expect(laterFormat('event', { kind: 'usage' })).toBeNull();
  expect(laterFormat('report', { format: FORMATS.report })).toBeNull();
  expect(laterFormat('event', { kind: 'usage', format: 2 })).toBe(2);
});
