import { premiumWeights } from '@tollgate/metering';
import { isNative, premiumAsked, type Ask, type FoundField } from '@tollgate/protocols';
import type { PriceVersion } from '@tollgate/snapshot';
import { Refusal } from '../refusals.ts';
import type { CandidateGroups } from '../snapshot/routing-index.ts';
import type { ChargedPrice } from '../journal/open-hold.ts';

/** At which price a request runs, and which of its fields may not pass. */
export interface Terms {
  readonly price: ChargedPrice;
  readonly dropped: readonly FoundField[];
}

/**
 * Dearer services pass where the price version has a multiplier for them, and are charged by it; else their fields are dropped, as are fields that
 * would choose another model, provider or address. Tools of the provider cannot be dropped, as the model was promised them: without a price they
 * are refused. Throws Refusal. A tier is bought only where every route of the model would carry it: which one answers is not known yet.
 */
export function termsOf({
  ask,
  price,
  candidates,
}: {
  ask: Ask;
  price: PriceVersion;
  candidates: CandidateGroups;
}): Terms {
  const { multipliers = {} } = price;
  const { tiers, refused, tools } = premiumAsked(ask);
  const plain = plainOf(price);
  if (tiers.length + refused.length + tools.length === 0) return { price: plain, dropped: [] };
  const hasPrice = ({ premium }: { premium: string }): boolean =>
    Object.hasOwn(multipliers, premium);
  const unpriced = tools.find((tool) => !hasPrice(tool));
  if (unpriced) throw toolNotPriced(unpriced);
  const isCarried = candidates.flat().every(({ upstream }) => isNative(ask.protocol, upstream));
  const bought = isCarried ? tiers.filter(hasPrice) : [];
  const dropped = [
    ...refused,
    ...tiers.filter((tier) => !bought.includes(tier)).map(({ field }) => field),
  ];
  const premiums = [...new Set([...bought, ...tools].map(({ premium }) => premium))];
  return {
    price:
      premiums.length === 0
        ? plain
        : { ...plain, ...premiumWeights(plain, multipliers, premiums), premiums },
    dropped,
  };
}

const plainPrices = new WeakMap<PriceVersion, ChargedPrice>();

/** Without its multipliers. Price versions do not change, so that each is copied once. */
function plainOf(price: PriceVersion): ChargedPrice {
  const known = plainPrices.get(price);
  if (known) return known;
  const { multipliers: _, ...plain } = price;
  plainPrices.set(price, plain);
  return plain;
}

/** Names what was dropped; every name is one of the closed table. */
export function droppedHeaders(dropped: readonly FoundField[]): Record<string, string> {
  if (dropped.length === 0) return {};
  return { 'x-tollgate-dropped': dropped.map(({ path }) => path.join('.')).join(', ') };
}

function toolNotPriced({ param, premium }: { param: string; premium: string }): Refusal {
  return new Refusal('server_tool_not_priced', {
    param,
    detail: `${param}: this model has no price for this tool of the provider; an administrator sets the multiplier ${JSON.stringify(premium)}.`,
  });
}
