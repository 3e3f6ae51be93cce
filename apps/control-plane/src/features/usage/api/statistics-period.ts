import { USAGE_PERIODS } from '../../../platform/database/usage-periods.ts';
import { invalidField, Refusal } from '../../../platform/http/refusal.ts';
import type { Period } from './select-statistics.ts';
import { FROM_BEFORE_TO, type StatisticsQuery } from './usage.dto.ts';

const DEFAULT_INTERVALS = { minute: 60, hour: 24, day: 30 };
/** No chart shows more points. Finer questions need a shorter period. */
const INTERVALS_MAX = 1_500;

/** Returns whole minutes, hours or days (UTC), because the roll-ups have nothing finer. */
export function periodOf({
  from,
  to,
  interval,
}: Pick<StatisticsQuery, 'from' | 'to' | 'interval'>): Period {
  const { lengthMs, keptMs, kept } = USAGE_PERIODS[interval];
  const end = Math.ceil((to?.getTime() ?? Date.now()) / lengthMs) * lengthMs;
  const start =
    Math.floor((from?.getTime() ?? end - DEFAULT_INTERVALS[interval] * lengthMs) / lengthMs) *
    lengthMs;
  if (start >= end) throw invalidField('from', FROM_BEFORE_TO);
  if (end - start > INTERVALS_MAX * lengthMs)
    throw new Refusal('statistics_range', {
      detail: `At most ${INTERVALS_MAX} intervals at a time`,
    });
  if (start < Date.now() - keptMs)
    throw new Refusal('statistics_range', {
      detail: `Sums by ${interval} are kept for ${kept}; ask for a later from, or for a longer interval`,
    });
  return { from: new Date(start), to: new Date(end) };
}
