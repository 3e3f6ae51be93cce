import {
  ORDINARY_PREMIUMS,
  PREMIUM_FIELDS,
  premiumOf,
  premiumSchema,
  type CallKey,
} from '@tollgate/contracts';
import type { Ask } from '../exchange.ts';
import type { FoundField } from './found-field.ts';
import { callClassOf } from './server-tools.ts';

/** Describes a service that is refused where the price has no multiplier for it and no weight for its calls. */
export interface NeededPremium {
  param: string;
  premium: string | null;
  of: 'tool' | 'model';
  /** Is the class that counts its calls; absent where only its tokens are charged. */
  calls?: CallKey;
}

/** Lists services that a request asks for beyond the ordinary one of its model. */
export interface PremiumAsked {
  /** Lists the tiers at the top of the request that may be bought; `premium` is their name in a price version. */
  tiers: readonly { field: FoundField; premium: string }[];
  /** Lists the fields that never pass: another address, model or provider, a tier that no price can name, storage that no caller could read. */
  refused: readonly FoundField[];
  /** Lists provider tools and further models; `premium` is null for one that no price can name. */
  needed: readonly NeededPremium[];
}

/** Values that cost no more than the ordinary service pass, and are not listed here. */
export function premiumAsked({
  fields,
  serverTools,
  nestedModels,
}: Pick<Ask, 'fields' | 'serverTools' | 'nestedModels'>): PremiumAsked {
  if (serverTools.length + nestedModels.length === 0 && !fields.some(mayCostMore)) return NOTHING;
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
      ...storageAsked(fields),
      ...dearer.filter((field) => !named.has(field)),
    ],
    needed: [
      ...serverTools.map(({ name, param }) => {
        const calls = callClassOf(name);
        const premium = premiumOf('server_tools', name);
        return needed({ of: 'tool', param, premium, ...(calls && { calls }) });
      }),
      ...nestedModels.map(({ model, param }) =>
        needed({
          of: 'model',
          param,
          premium: model === null ? null : premiumOf('nested_model', model),
        }),
      ),
    ],
  };
}

/** Is the result for nearly every request. */
const NOTHING: PremiumAsked = { tiers: [], refused: [], needed: [] };

function needed(asked: NeededPremium): NeededPremium {
  return premiumSchema.safeParse(asked.premium).success ? asked : { ...asked, premium: null };
}

function mayCostMore({ role }: FoundField): boolean {
  return role === 'tier' || role === 'routing' || role === 'storage';
}

/** Metadata passes where nothing is stored, because providers other than OpenAI read it. */
function storageAsked(fields: readonly FoundField[]): FoundField[] {
  const storage = fields.filter(({ role }) => role === 'storage');
  return storage.some(({ path: [name], value }) => name === 'store' && value === true)
    ? storage
    : [];
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
