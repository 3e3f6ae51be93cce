import { text } from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';

/**
 * Returns whether an item of the input refers to one that the provider has stored. The type may be absent; messages are the only other items without
 * one, and have a role.
 */
export function isItemReference({ type, role }: JsonRecord): boolean {
  return text(type) === 'item_reference' || ((type ?? null) === null && text(role) === null);
}
