import { ORDINARY_PREMIUMS, PREMIUM_FIELDS, premiumOf } from '@tollgate/contracts';
import { text } from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';

/** Returns the tiers at which an answer was made, where they cost no more than the ordinary one: a requested dearer tier is then not charged. */
export function ordinaryServices(holder: JsonRecord): readonly string[] | null {
  let found: string[] | null = null;
  for (const field of PREMIUM_FIELDS) {
    const value = text(holder[field]);
    if (value === null) continue;
    const name = premiumOf(field, value);
    if (ORDINARY_PREMIUMS.has(name)) (found ??= []).push(name);
  }
  return found;
}
