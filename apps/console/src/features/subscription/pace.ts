/** Says how long tokens last, at the pace of the last day. */
export type Pace =
  | { kind: 'empty' }
  | { kind: 'unused' }
  | { kind: 'hours' }
  | { kind: 'days'; days: number }
  | { kind: 'long' };

const LONG_DAYS = 365;

export function paceOf({ tokens, usedInDay }: { tokens: number; usedInDay: number }): Pace {
  if (tokens <= 0) return { kind: 'empty' };
  if (usedInDay <= 0) return { kind: 'unused' };
  const days = tokens / usedInDay;
  if (days < 1) return { kind: 'hours' };
  return days > LONG_DAYS ? { kind: 'long' } : { kind: 'days', days: Math.floor(days) };
}

const DAYS_NEAR = 3;

/** Returns true where a person should act soon. */
export function isNear(pace: Pace): boolean {
  return (
    pace.kind === 'empty' ||
    pace.kind === 'hours' ||
    (pace.kind === 'days' && pace.days < DAYS_NEAR)
  );
}
