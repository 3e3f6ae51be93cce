import { expect, test } from '@jest/globals';
import {
  concludeBooks,
  countVerdicts,
  describeFindings,
  isSound,
  REST,
  type Finding,
} from './finding.ts';

const HELD: Finding = { name: 'held', promise: 'a', compared: 3, problems: [] };
const BROKEN: Finding = {
  name: 'broken',
  promise: 'b',
  compared: 3,
  problems: ['request 7: too much'],
};
const OPEN: Finding = {
  name: 'open',
  promise: 'c',
  compared: 0,
  problems: [],
  notJudged: 'the machine was busy',
};

test('a promise that was not judged is neither held nor broken, and says why', () => {
  expect(countVerdicts([HELD, HELD, BROKEN, OPEN])).toBe('2 promises held, 1 BROKE, 1 NOT JUDGED');
  expect(isSound([HELD, OPEN])).toBe(true);
  const text = describeFindings([HELD, OPEN]);
  expect(text).toMatch(/^ +open +c +0 +NOT JUDGED$/m);
  expect(text).toMatch(/^open: not judged, the machine was busy$/m);
});

test('what broke is broken, judged whole or not', () => {
  expect(isSound([HELD, BROKEN])).toBe(false);
  expect(countVerdicts([{ ...BROKEN, notJudged: 'cut short' }])).toBe(
    '0 promises held, 1 BROKE, 0 NOT JUDGED',
  );
  expect(describeFindings([BROKEN])).toMatch(/^ {2}- request 7: too much$/m);
});

test('an installation that did not rest is not called one whose books do not close, nor one whose books do', () => {
  const unrest: Finding = { ...BROKEN, name: REST, problems: ['holds of s00: 1'] };
  expect(concludeBooks([HELD, OPEN, unrest])).toEqual({
    says: expect.stringMatching(/^NOT JUDGED: the installation did not come to rest/),
    exitStatus: 3,
  });
  expect(isSound([HELD, OPEN, unrest])).toBe(false);
  expect(concludeBooks([BROKEN, unrest]).exitStatus).toBe(1);
  expect(concludeBooks([HELD]).exitStatus).toBe(0);
  expect(describeFindings([unrest])).toMatch(/^ +at rest .* NO$/m);
});
