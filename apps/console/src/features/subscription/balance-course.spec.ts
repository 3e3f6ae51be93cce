import { expect, test } from '@jest/globals';
import type { UsageStatistics } from '../../api/usage.ts';
import { balanceCourse } from './balance-course.ts';

const at = (hour: number): string =>
  new Date(Date.UTC(2026, 0, 1) + hour * 3_600_000).toISOString();
const statistics = {
  from: at(0),
  to: at(5),
  interval: 'hour',
  group_by: 'key',
  data: [
    { at: at(1), charge: 10 },
    { at: at(3), charge: 20 },
    { at: at(3), charge: 5 },
    { at: at(4), charge: 1 },
  ],
} as unknown as UsageStatistics;

test('what was left falls with each charge and rises with each purchase, back to where purchases are known', () => {
  const bought = [
    { tokens: 60, created_at: at(2.5) },
    { tokens: 100, created_at: at(0.5) },
  ];
  expect(
    balanceCourse(statistics, { tokens: 124, bought, from: Date.parse(at(0.5)) }).values,
  ).toEqual([100, 90, 150, 125, 124]);
  expect(
    balanceCourse(statistics, { tokens: 124, bought, from: Date.parse(at(2.5)) }).values,
  ).toEqual([null, null, 150, 125, 124]);
});
