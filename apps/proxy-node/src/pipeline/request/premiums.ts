import { CALL_ROWS } from '@tollgate/contracts';
import { premiumWeights } from '@tollgate/metering';
import {
  isDropped,
  isNative,
  namedFields,
  premiumAsked,
  unknownFields,
  type Ask,
  type DroppedField,
  type NeededPremium,
} from '@tollgate/protocols';
import type { PriceVersion } from '@tollgate/snapshot';
import { Refusal } from '../../refusals.ts';
import type { CandidateGroups } from '../../snapshot/routing-index.ts';
import type { ChargedPrice } from '../../journal/open-hold.ts';

/** Is the multiplier 1 in millionths, the unit of all multipliers. */
const MULTIPLIER_OF_ONE = 1_000_000;

/** Says at which price a request runs, and which of its fields may not pass. */
export interface Terms {
  readonly price: ChargedPrice;
  readonly dropped: readonly DroppedField[];
}

/**
 * Dearer services pass where the price version has a multiplier for them, and are charged by it; else their fields are dropped, as are fields that
 * would choose another model, provider or address. Tools of the provider and the models that they name cannot be dropped, as the model was promised them:
 * they are refused without a multiplier or, where their calls are counted, a price of a call. Throws Refusal. A tier is bought only where every route of the model would carry it: which one answers is not known yet.
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
  const unknown = unknownHere(ask, candidates);
  const { tiers, refused, needed } = premiumAsked(without(ask, unknown));
  if (tiers.length + refused.length + needed.length === 0)
    return { price: plainOf(price), dropped: unknown };
  const hasPrice = ({ premium }: { premium: string | null }): boolean =>
    premium !== null && Object.hasOwn(multipliers, premium);
  const unpriced = needed.find((each) => !hasPrice(each) && !hasCallPrice(each, price));
  if (unpriced) throw notPriced(unpriced);
  const isCarried = candidates.flat().every(({ upstream }) => isNative(ask.protocol, upstream));
  const bought = isCarried ? tiers.filter(hasPrice) : [];
  const dropped = [
    ...unknown,
    ...refused,
    ...tiers.filter((tier) => !bought.includes(tier)).map(({ field }) => field),
  ];
  const multiplied = [...bought, ...needed.filter(hasPrice)];
  const premiums = [...new Set(multiplied.map(({ premium }) => premium))].filter(
    (premium) => premium !== null,
  );
  return {
    price: priceWith(price, premiums),
    dropped,
  };
}

function hasCallPrice({ calls }: NeededPremium, price: PriceVersion): boolean {
  return CALL_ROWS.some(({ key, name }) => key === calls && price[`weight_${name}`] !== undefined);
}

/** Returns the price of an answer that says it was made at these ordinary services: without the multipliers of the dearer ones that were asked for, and never above what was held for. `versions` are those of the model to which the price belongs. */
export function priceAsAnswered(
  price: ChargedPrice,
  versions: readonly PriceVersion[],
  services: readonly string[],
): ChargedPrice {
  const fields = new Set(services.map(fieldOf));
  const premiums = price.premiums?.filter((premium) => !fields.has(fieldOf(premium))) ?? [];
  const version = versions.find(({ id }) => id === price.id);
  if (premiums.length === (price.premiums?.length ?? 0) || !version) return price;
  const { multipliers = {} } = version;
  const isCheaper = (price.premiums ?? [])
    .filter((premium) => !premiums.includes(premium))
    .every((premium) => (multipliers[premium] ?? 0) >= MULTIPLIER_OF_ONE);
  return isCheaper ? priceWith(version, premiums) : price;
}

function priceWith(version: PriceVersion, premiums: string[]): ChargedPrice {
  const plain = plainOf(version);
  if (premiums.length === 0) return plain;
  return { ...plain, ...premiumWeights(plain, version.multipliers ?? {}, premiums), premiums };
}

function fieldOf(premium: string): string {
  return premium.slice(0, premium.indexOf('='));
}

const plainPrices = new WeakMap<PriceVersion, ChargedPrice>();

/** Returns the version without its multipliers. Versions never change, so each is copied once. */
function plainOf(price: PriceVersion): ChargedPrice {
  const known = plainPrices.get(price);
  if (known) return known;
  const { multipliers: _, ...plain } = price;
  plainPrices.set(price, plain);
  return plain;
}

/** Returns the fields that no table knows, where an upstream that may answer takes known ones only. They are dropped for all routes: which one answers is not known yet. */
export function unknownHere(
  ask: Pick<Ask, 'protocol' | 'body'>,
  candidates: CandidateGroups,
): DroppedField[] {
  const isKnownOnly = candidates.some((group) =>
    group.some(({ upstream }) => upstream.fields === 'known'),
  );
  return isKnownOnly ? unknownFields(ask) : [];
}

/** A dropped field asks for nothing. */
function without(
  ask: Pick<Ask, 'fields' | 'serverTools' | 'nestedModels'>,
  dropped: readonly DroppedField[],
): Pick<Ask, 'fields' | 'serverTools' | 'nestedModels'> {
  if (dropped.length === 0) return ask;
  const { fields, serverTools, nestedModels } = ask;
  const isLeft = ({ path }: DroppedField): boolean => !isDropped(path, dropped);
  return {
    fields: fields.filter(isLeft),
    serverTools,
    nestedModels: nestedModels.filter(isLeft),
  };
}

/** Names what was dropped, in a bounded length. */
export function droppedHeaders(dropped: readonly DroppedField[]): Record<string, string> {
  return dropped.length === 0 ? {} : { 'x-tollgate-dropped': namedFields(dropped) };
}

const UNPRICED = {
  tool: { code: 'server_tool_not_priced', what: 'this tool of the provider' },
  model: { code: 'nested_model_not_priced', what: 'a further model that is named here' },
} as const;

function notPriced({ of, param, premium, calls }: NeededPremium): Refusal {
  const { code, what } = UNPRICED[of];
  const remedy =
    premium === null
      ? 'leave it out'
      : `leave it out, or an administrator sets ${calls === undefined ? '' : `the weight of ${calls} or `}the multiplier ${JSON.stringify(premium)}`;
  return new Refusal(code, {
    param,
    detail: `${param}: this model has no price for ${what}; ${remedy}.`,
  });
}
