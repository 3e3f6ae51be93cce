const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Lists the periods over which usage is summed (UTC), finest first, with the table of the sums and their retention. */
export const USAGE_PERIODS = {
  minute: {
    column: 'minute',
    type: 'timestamptz',
    lengthMs: 60_000,
    keptMs: 48 * HOUR_MS,
    kept: '48 hours',
    rollups: 'usage_rollups_minute',
    totals: 'usage_totals_minute',
  },
  hour: {
    column: 'hour',
    type: 'timestamptz',
    lengthMs: HOUR_MS,
    keptMs: 90 * DAY_MS,
    kept: '90 days',
    rollups: 'usage_rollups',
    totals: 'usage_totals',
  },
  day: {
    column: 'day',
    type: 'date',
    lengthMs: DAY_MS,
    keptMs: Infinity,
    kept: 'ever',
    rollups: 'usage_rollups_daily',
    totals: 'usage_totals_daily',
  },
} as const;

export type UsagePeriodName = keyof typeof USAGE_PERIODS;
export type UsagePeriod = (typeof USAGE_PERIODS)[UsagePeriodName];
export const USAGE_PERIOD_NAMES = ['minute', 'hour', 'day'] as const;
