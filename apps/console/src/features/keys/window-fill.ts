import type { KeyWindow } from '../../api/keys.ts';
import type { Words } from '../../words/words.ts';

const NEAR = 0.8;

export const FILL_TONES = { reached: 'bad', near: 'warn', free: 'accent' } as const;

/** How a limit stands: reached, near, or neither. */
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

/** Names a limit with its models, and whose it is where it is not the key's own. */
export function windowName(
  { window, models, of }: Pick<KeyWindow, 'window' | 'models' | 'of'>,
  { keys, tables }: Words,
): string {
  const { name } = tables.limits[window];
  const counted = models === '' ? name : `${name}: ${models}`;
  return of === 'account' ? keys.ofAccount(counted) : counted;
}
