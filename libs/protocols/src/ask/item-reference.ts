import { text } from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';

/** Returns whether an item of the input stands for one that the provider has stored. The type may be left out; messages are the only others without one, and have a role. */
export function isItemReference({ type, role }: JsonRecord): boolean {
  return text(type) === 'item_reference' || ((type ?? null) === null && text(role) === null);
}
