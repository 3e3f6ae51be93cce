import { z } from 'zod';

/**
 * Lists the request fields that buy a dearer service; an administrator may set multipliers for their values. `server_tools` stands for tools that the
 * provider runs, `nested_model` for a further model that a tool or a setting names.
 */
export const PREMIUM_FIELDS = [
  'service_tier',
  'speed',
  'inference_geo',
  'server_tools',
  'nested_model',
] as const;
export type PremiumField = (typeof PREMIUM_FIELDS)[number];

/** Lists tier values that cost no more than the ordinary one. They pass without a multiplier, and a price refuses one, which would never apply. */
export const ORDINARY_PREMIUMS: ReadonlySet<string> = new Set([
  ...['auto', 'default', 'standard', 'standard_only', 'flex'].map((tier) => `service_tier=${tier}`),
  'speed=standard',
  ...['global', 'not_available'].map((geo) => `inference_geo=${geo}`),
]);

/** One request has at most this many dearer services; each names a field and one of its values. */
export const PREMIUMS_MAX = 16;

/** Names a dearer service in price versions, finals and usage rows, for example `service_tier=priority`. */
export const premiumSchema = z
  .string()
  .regex(
    new RegExp(`^(?:${PREMIUM_FIELDS.join('|')})=[A-Za-z0-9_.:/@-]{1,64}$`),
    `must be <field>=<value>, with a field of ${PREMIUM_FIELDS.join(', ')}`,
  );

export function premiumOf(field: PremiumField, value: string): string {
  return `${field}=${value}`;
}
