import { expect, test } from '@jest/globals';

interface OnlyInTypeScript {
  line: 6;
}

test('fails', () => expect<OnlyInTypeScript>({ line: 6 }).toEqual({ line: 7 }));
