import { expect, test } from '@jest/globals';
import { FORMATS, laterFormat, READ_FORMATS, readFormatsOf, writableFormats } from './formats.ts';

/** Has the numbers of a release that writes reports of format 2. */
const NEXT = { ...FORMATS, report: 2 };

test('a format above 1 may be written once every process reads it, and not while one names a lower number or none', () => {
  expect(writableFormats([NEXT, NEXT], NEXT)).toEqual({ report: 2 });
  expect(writableFormats([NEXT, FORMATS], NEXT)).toEqual({});
  expect(writableFormats([NEXT, {}], NEXT)).toEqual({});
});

test('a process of a later release does not raise what this one writes', () => {
  expect(writableFormats([NEXT, { ...NEXT, report: 9, event: 3 }], NEXT)).toEqual({ report: 2 });
});

test('abilities say what a process reads, beside abilities of other kinds, or nothing', () => {
  expect(readFormatsOf(['speaks_openai', ...READ_FORMATS, 'later:7'])).toEqual({
    ...FORMATS,
    later: 7,
  });
  expect(readFormatsOf(['speaks_openai', 'auth_azure'])).toBeUndefined();
});

test('what has no number is of format 1; a number that is not read is of a later release', () => {
  expect(laterFormat('event', { kind: 'usage' })).toBeNull();
  expect(laterFormat('report', { format: FORMATS.report })).toBeNull();
  expect(laterFormat('event', { kind: 'usage', format: 2 })).toBe(2);
});
