import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { OMISSIONS, omissionTable } from './omissions.ts';

const PAGE = new URL('../../../../docs/translation.md', import.meta.url);

describe('documented omissions', () => {
  test.each([...new Set(OMISSIONS.map(({ direction }) => direction))])(
    'docs/translation.md prints the table of %s as the code has it',
    (direction) => {
      expect(readFileSync(PAGE, 'utf8')).toContain(omissionTable(direction));
    },
  );
});
