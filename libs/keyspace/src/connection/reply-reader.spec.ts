import { expect, test } from '@jest/globals';
import { ReplyReader, UnexpectedReply } from './reply-reader.ts';

test('a reply is read from left to right, and anything unexpected is refused', () => {
  const reader = new ReplyReader(['OK', '9007199254740991', -3, ['a', 'b']]);
  expect(reader.oneOf('NO', 'OK')).toBe('OK');
  expect(reader.integer()).toBe(Number.MAX_SAFE_INTEGER);
  expect(reader.integer()).toBe(-3);
  expect(reader.list().all((rest) => rest.text())).toEqual(['a', 'b']);
  expect(reader.isAtEnd).toBe(true);
  expect(() => reader.text()).toThrow(UnexpectedReply);
  for (const bad of [null, 'OK', 7, { 0: 'OK' }])
    expect(() => new ReplyReader(bad)).toThrow(UnexpectedReply);
  for (const bad of ['1.5', '', 'x', '1e3', null, 1.5, '9007199254740993'])
    expect(() => new ReplyReader([bad]).integer()).toThrow(UnexpectedReply);
  expect(() => new ReplyReader(['MAYBE']).oneOf('OK')).toThrow(UnexpectedReply);
});
