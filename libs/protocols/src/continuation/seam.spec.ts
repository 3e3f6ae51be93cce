import { describe, expect, test } from '@jest/globals';
import { joinedBy } from '../../test/joined-texts.ts';
import { anchorOf } from './anchor.ts';
import { judgeSeam } from './seam.ts';

const DELIVERED = 'The captain left the harbour before dawn, and no one saw the small lantern ';
const ANCHOR = 'small lantern ';

describe('an anchor', () => {
  test.each([
    [DELIVERED, ANCHOR],
    ['one two three four five', 'three four five'],
    ['| 111 | 222 |\n| 333 | 444 |\n| 555 | 666 |\n', '333 | 444 |\n| 555 | 666 |\n'],
    ['天地玄黄宇宙洪荒日月盈昃辰宿列张', '宇宙洪荒日月盈昃辰宿列张'],
    ['It was a bright c', 'was a bright c'],
  ])('of %j is %j: whole words of at least twelve letters', (delivered, anchor) => {
    expect(anchorOf(delivered)).toBe(anchor);
  });

  test('is longer where its words stand elsewhere, so that a start from there begins otherwise', () => {
    const refrain = 'la la lantern by the river';
    expect(anchorOf(`First. ${refrain}. Second, ${refrain}`)).toBe(`Second, ${refrain}`);
    // Within another word it stands where no answer begins.
    expect(anchorOf('No gaslantern by him, a lantern by him')).toBe('lantern by him');
  });

  test('is what there is of a short text, all of it only where nothing else is left', () => {
    expect(anchorOf('Once upon a ')).toBe('upon a ');
    expect(anchorOf('| name | a')).toBe('name | a');
    expect(anchorOf('Once')).toBe('Once');
    expect(anchorOf('No')).toBeNull();
    expect(anchorOf('')).toBeNull();
  });

  test('is null where the text says nothing else', () => {
    expect(anchorOf('la '.repeat(400))).toBeNull();
    expect(anchorOf('-'.repeat(50))).toBeNull();
  });

  test('is found in the time of the text, whatever its form', () => {
    const texts = [
      `a${' '.repeat(3_000_000)}b`,
      'la '.repeat(1_000_000),
      'b' + 'a'.repeat(3_000_000),
      '天'.repeat(1_000_000),
      `${'x small lantern'.repeat(200_000)} by the old small lantern`,
    ];
    for (const text of texts) expect([null, 'string']).toContain(anchorOf(text) && 'string');
  }, 5_000);
});

describe('a continuation', () => {
  test.each([
    ['starts again', `${DELIVERED}by the door.`],
    ['starts again in the middle', 'harbour before dawn, and no one saw the small lantern by'],
    ['starts again a word too early', 'the small lantern by the door.'],
    ['goes on without the anchor', 'by the door.'],
    ['excuses itself', "I'm sorry. small lantern by the door."],
    ['excuses itself in words of no list', 'Weiter geht es: small lantern by the door.'],
    ['quotes the anchor', '"small lantern by the door."'],
    ['opens a block of code', '```\nsmall lantern by the door.'],
    ['says the anchor in other words', 'little lantern by the door.'],
    ['says it in capitals', 'Small lantern by the door.'],
    ['goes another way', 'small lanterns by the door.'],
    ['ends within the anchor', 'small lan'],
    ['says nothing', ''],
    ['says nothing but spaces', ' \n '],
  ])('that %s is the error of the cut', (_what, rest) => {
    for (const size of [1, 3, 1_000]) expect(joinedBy(DELIVERED, rest, size)).toBeNull();
  });

  test.each([
    ['small lantern by the door.', 'by the door.'],
    [' small lantern by the door.', 'by the door.'],
    ['\n\nsmall lantern  by', ' by'],
    ['small lantern', ''],
  ])('%j is true: the client gets %j', (rest, said) => {
    for (const size of [1, 3, 1_000])
      expect(joinedBy(DELIVERED, rest, size)).toBe(DELIVERED + said);
  });

  test('may say a part of the spaces that the client has, and more, but not others', () => {
    const text = 'The first line ends here.\n\n';
    const seam = (rest: string): string | null => joinedBy(text, rest, 2);
    expect(seam('line ends here.\nThen')).toBe(`${text}Then`);
    expect(seam('line ends here.\n\n  Then')).toBe(`${text}  Then`);
    expect(seam('line ends here. Then')).toBeNull();
    expect(seam('line ends here.Then')).toBeNull();
  });

  test('is not known before it has repeated the anchor', () => {
    expect(judgeSeam(ANCHOR, 'small la', false)).toEqual({ kind: 'more' });
    expect(judgeSeam(ANCHOR, 'small lantern', false)).toEqual({ kind: 'more' });
    expect(judgeSeam(ANCHOR, 'small lantern b', false)).toEqual({
      kind: 'true',
      overlap: ANCHOR.length,
    });
  });

  test.each([
    ['We had a long party \u{1f389}', 'had a long party \u{1f389}\u{1f389} and', '\u{1f389} and'],
    ['Then we all went there \ud83c', 'all went there \u{1f389} and', '\udf89 and'],
    ['Then we went to a cafe', 'we went to a cafe\u0301 and', '\u0301 and'],
    ['Then we went to a café', 'we went to a cafe\u0301 and', null],
  ])('of %j that is %j joins within a character, or not at all', (delivered, rest, said) => {
    expect(joinedBy(delivered, rest, 1)).toBe(said === null ? null : delivered + said);
  });
});
