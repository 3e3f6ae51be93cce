import type { KeyWindow } from '../../api/keys.ts';
import type { Words } from '../../words/words.ts';

/** Names a limit with its models, and whose it is where it is not the key's own. */
export function windowName(
  { window, models, of }: Pick<KeyWindow, 'window' | 'models' | 'of'>,
  { keys, tables }: Words,
): string {
  const { name } = tables.limits[window];
  const counted = models === '' ? name : `${name}: ${models}`;
  return of === 'account' ? keys.ofAccount(counted) : counted;
}
