import { CHARGED_CLASSES, KEY_LIMITS } from '@tollgate/admin-client';
import type { Shape } from './client.ts';

/** These are the enumerations of the interface's document: pages iterate over these tables and name no value. */
export {
  CHARGED_CLASSES,
  CLIENT_PROTOCOLS,
  FURTHER_ENDPOINTS,
  OUTCOMES,
  KEY_LIMITS,
  UPSTREAM_PROTOCOLS,
} from '@tollgate/admin-client';

export type TokenClass = Shape<'ChargedClass'>;
export type CallerName = Shape<'ClientProtocol'>;
export type OutcomeName = Shape<'Outcome'>;
export type ProviderName = Shape<'UpstreamProtocol'>;
export type LimitName = Shape<'KeyLimit'>;
export type TokenField = (typeof CHARGED_CLASSES)[number]['field'];
export type WeightField = `weight_${TokenClass}`;
type OptionalClass = Extract<(typeof CHARGED_CLASSES)[number], { is_optional: true }>['name'];
/** Holds decimal texts; null means the weight of the class's parent. */
export type Weights = {
  [Class in TokenClass as `weight_${Class}`]: Class extends OptionalClass ? string | null : string;
};

export const weightOf = (name: TokenClass): WeightField => `weight_${name}`;

/** Returns one weight for each class: what is given, else that of the parent, else 1. */
export function weightsFrom(given: Readonly<Partial<Record<WeightField, string | null>>>): Weights {
  return Object.fromEntries(
    CHARGED_CLASSES.map(({ name, is_optional: isOptional }) => [
      weightOf(name),
      given[weightOf(name)] || (isOptional ? null : '1'),
    ]),
  ) as Weights;
}

/** Returns the tokens that one side of a request came to, over all classes; null where they are not known. */
export function sideTokens(
  row: Readonly<Partial<Record<TokenField, number | null>>>,
  side: (typeof CHARGED_CLASSES)[number]['side'],
): number | null {
  const counts = CHARGED_CLASSES.filter((one) => one.side === side && one.unit === 'token').map(
    ({ field }) => row[field] ?? null,
  );
  return counts.every((count) => count === null)
    ? null
    : counts.reduce<number>((sum, count) => sum + (count ?? 0), 0);
}

/** Returns one value for each limit of a key. */
export function limitValues<Value>(valueOf: (name: LimitName) => Value): Record<LimitName, Value> {
  return Object.fromEntries(KEY_LIMITS.map(({ name }) => [name, valueOf(name)])) as Record<
    LimitName,
    Value
  >;
}

/** Returns one value for each limit, under the name of an account's ceiling (`rpm_ceiling`). */
export function ceilingValues<Value>(valueOf: (name: LimitName) => Value) {
  return Object.fromEntries(
    KEY_LIMITS.map(({ name }) => [`${name}_ceiling`, valueOf(name)]),
  ) as Record<`${LimitName}_ceiling`, Value>;
}

/** Returns whether a key has any limit. */
export function isLimited(limits: Readonly<Record<LimitName, number>>): boolean {
  return KEY_LIMITS.some(({ name }) => limits[name] > 0);
}
