import { expect, test } from '@jest/globals';
import { HIDDEN_IN_NAMES, withoutHiddenMarks } from './hidden-marks.ts';

test('controls of a terminal and overrides of direction are replaced; tab, line feed and letters of every script stay', () => {
  expect(withoutHiddenMarks('a\u001b[31m\u009b2J\u202eb\u2066\r\u007f\u2028', '?')).toBe(
    'a?[31m?2J?b????',
  );
  const kept = 'tab\t, line\n, é, 中, العربية\u200f, 👩\u200d💻, \u00a0';
  expect(withoutHiddenMarks(kept, '?')).toBe(kept);
});

test('a name has none of them, and no tab, line feed or mark of direction', () => {
  const isName = (text: string) => new RegExp(`^[^${HIDDEN_IN_NAMES}]*$`, 'u').test(text);
  expect(['é 中 العربية', '👩\u200d💻'].map(isName)).toEqual([true, true]);
  expect(['a\tb', 'a\nb', 'a\u200fb', 'a\u001bb', 'a\u202eb'].some(isName)).toBe(false);
});
