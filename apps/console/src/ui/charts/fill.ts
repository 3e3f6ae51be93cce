const NEAR = 0.8;

export const FILL_TONES = { reached: 'bad', near: 'warn', free: 'accent' } as const;

/** Returns the state of a limit: reached, near, or neither. */
export function fillOf({
  limit,
  used,
}: {
  limit: number;
  used: number;
}): 'reached' | 'near' | 'free' {
  if (limit <= 0) return 'free';
  if (used >= limit) return 'reached';
  return used >= limit * NEAR ? 'near' : 'free';
}
