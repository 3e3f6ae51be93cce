import type { UsageStatistics } from '../../api/usage.ts';
import { endOf } from '../../ui/charts/chart-data.ts';
import { timesOf } from '../usage/course.ts';

/** Holds tokens that came in, and when. */
interface Bought {
  tokens: number;
  created_at: string;
}

/** Returns the tokens that were left at the end of each interval: those of now, with what was charged since and without what was bought since. They are null before `from`, as far back as the purchases are known; the interval that has not ended has those of now. */
export function balanceCourse(
  statistics: UsageStatistics,
  { tokens, bought, from }: { tokens: number; bought: readonly Bought[]; from: number },
): { times: number[]; values: (number | null)[] } {
  const times = timesOf(statistics);
  const charged = new Map<number, number>();
  for (const { at, charge } of statistics.data)
    charged.set(Date.parse(at), (charged.get(Date.parse(at)) ?? 0) + charge);
  const values: (number | null)[] = [];
  let chargedSince = 0;
  for (let index = times.length - 1; index >= 0; index -= 1) {
    const end = endOf(times, index);
    const boughtSince = bought
      .filter(({ created_at: at }) => Date.parse(at) > end)
      .reduce((sum, lot) => sum + lot.tokens, 0);
    values[index] = end <= from ? null : Math.max(0, tokens + chargedSince - boughtSince);
    chargedSince += charged.get(times[index] ?? 0) ?? 0;
  }
  return { times, values };
}
