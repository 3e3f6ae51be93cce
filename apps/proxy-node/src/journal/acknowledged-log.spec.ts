import { expect, test } from '@jest/globals';
import { AcknowledgedLog } from './acknowledged-log.ts';
import { acknowledgedLine } from './journal-line.ts';
import type { Journal } from './journal.ts';

test('acknowledgements of one tick are one line, and none is written twice', () => {
  const lines: string[] = [];
  const later: (() => void)[] = [];
  const journal = { append: (line: string) => lines.push(line) } as unknown as Journal;
  const timers = { soon: (act: () => void) => void later.push(act) } as never;
  const log = new AcknowledgedLog(journal, { now: () => 5, timers });
  log.note('one', 0);
  log.note('two', 1);
  for (const act of later.splice(0)) act();
  log.note('three', 0);
  expect(later).toHaveLength(1);
  log.write();
  for (const act of later.splice(0)) act();
  expect(lines).toEqual([
    acknowledgedLine(5, [
      ['one', 0],
      ['two', 1],
    ]),
    acknowledgedLine(5, [['three', 0]]),
  ]);
});
