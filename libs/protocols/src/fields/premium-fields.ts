import { ORDINARY_PREMIUMS, PREMIUM_FIELDS, premiumOf, premiumSchema } from '@tollgate/contracts';
import type { Ask } from '../exchange.ts';
import type { FoundField } from './found-field.ts';

/** What a request asks for beyond the ordinary service of its model. */
export interface PremiumAsked {
  /** Tiers at the top of the request that may be bought; `premium` is their name in a price version. */
  tiers: readonly { field: FoundField; premium: string }[];
  /** Fields that never pass: another address, model or provider, a tier that no price can name. */
  refused: readonly FoundField[];
  /** Tools of the provider. */
  tools: readonly { param: string; premium: string }[];
}

/** Values that cost no more than the ordinary service pass, and are not named here. */
export function premiumAsked({
  fields,
  serverTools,
}: Pick<Ask, 'fields' | 'serverTools'>): PremiumAsked {
  if (serverTools.length === 0 && !fields.some(mayCostMore)) return NOTHING;
  const dearer = fields.filter(({ role }) => role === 'tier').filter((field) => !isOrdinary(field));
  const tiers = dearer.flatMap((field) => {
    const premium = tierPremium(field);
    return premium === null ? [] : [{ field, premium }];
  });
  const named = new Set(tiers.map(({ field }) => field));
  return {
    tiers,
    refused: [
      ...fields.filter(({ role }) => role === 'routing'),
      ...dearer.filter((field) => !named.has(field)),
    ],
    tools: serverTools.map(({ name, param }) => ({
      param,
      premium: premiumOf('server_tools', name),
    })),
  };
}

/** What nearly every request asks for. */
const NOTHING: PremiumAsked = { tiers: [], refused: [], tools: [] };

function mayCostMore({ role }: FoundField): boolean {
  return role === 'tier' || role === 'routing';
}

function isOrdinary({ path, value }: FoundField): boolean {
  return typeof value === 'string' && ORDINARY_PREMIUMS.has(`${path.at(-1)}=${value}`);
}

function tierPremium({ path, value }: FoundField): string | null {
  const field = PREMIUM_FIELDS.find((name) => name === path[0]);
  if (path.length > 1 || field === undefined || typeof value !== 'string') return null;
  const premium = premiumOf(field, value);
  return premiumSchema.safeParse(premium).success ? premium : null;
}
