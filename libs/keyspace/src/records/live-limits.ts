import {
  BOUND_NAMES,
  limitFields,
  RATE_WINDOWS,
  type KeyLimits,
  type Rate,
} from '@tollgate/contracts';
import { z } from 'zod';

/** Is the number of buckets of a window, as lua/shared/rates.lua counts. */
export const BUCKETS = 60;

/** Holds the limits of a live record: those by name, and rates of their own models. */
export interface LiveLimits extends KeyLimits {
  /** Is true where the rates of tokens by name count what was read from a cache. */
  countsCacheReads: boolean;
  rates: readonly Rate[];
}

export const NO_LIMITS: LiveLimits = {
  ...limitFields(() => 0),
  countsCacheReads: true,
  rates: [],
};

/** Names the owner of the windows: a field of an account begins with `account `. */
export type RateOwner = 'key' | 'account';
const PREFIXES: Readonly<Record<RateOwner, string>> = { key: '', account: 'account ' };

/** Names the window of a rate in the hash of its owner: its window and, where it has models, their globs. */
export function rateField(
  owner: RateOwner,
  { window, models }: Pick<Rate, 'window' | 'models'>,
): string {
  return `${PREFIXES[owner]}${window}${models === '' ? '' : ` ${models}`}`;
}

/** Returns every rate of a record, those by name first. */
function ratesOf(limits: LiveLimits): Rate[] {
  const { countsCacheReads, rates } = limits;
  const named = RATE_WINDOWS.flatMap(({ name: window }) =>
    limits[window] > 0 ? [{ window, limit: limits[window], models: '', countsCacheReads }] : [],
  );
  return [...named, ...rates];
}

const SECONDS = new Map<string, number>(RATE_WINDOWS.map(({ name, seconds }) => [name, seconds]));
const NAMES = new Map<string, Rate['window']>(RATE_WINDOWS.map(({ name }) => [name, name]));
const COUNTS = new Map<string, string>(
  RATE_WINDOWS.map(({ name, counts }) => [name, counts === 'requests' ? 'r' : 't']),
);

export function bucketMsOf(window: string): number {
  return ((SECONDS.get(window) ?? 0) * 1_000) / BUCKETS;
}

/** Returns the text that lua/shared/limits.lua reads; '' = no limits. */
export function toLimitsText(owner: RateOwner, limits: LiveLimits): string {
  const w = ratesOf(limits).map((rate) => [
    rateField(owner, rate),
    COUNTS.get(rate.window),
    bucketMsOf(rate.window),
    rate.limit,
    rate.models,
    rate.countsCacheReads ? 0 : 1,
  ]);
  const [c, i, o] = BOUND_NAMES.map((name) => limits[name]);
  if (w.length === 0 && !c && !i && !o && limits.countsCacheReads) return '';
  return JSON.stringify({ w, c, i, o, k: limits.countsCacheReads ? 1 : 0 });
}

const count = z.int().min(0);
const limitsText = z.object({
  w: z.array(z.tuple([z.string(), z.string(), count, count, z.string(), count])),
  c: count,
  i: count,
  o: count,
  k: count,
});

/** Reads the limits of a key that `toLimitsText` wrote. Throws for a text that it did not write. */
export function readLimitsText(text: string): LiveLimits {
  if (text === '') return NO_LIMITS;
  const { c, i, o, k } = limitsText.parse(JSON.parse(text));
  const all = readRates(text);
  const named = new Map<string, number>([
    ...all
      .filter(({ models }) => models === '')
      .map(({ window, limit }) => [window, limit] as const),
    ...BOUND_NAMES.map((name, at) => [name, [c, i, o][at] ?? 0] as const),
  ]);
  const rates = all.filter(({ models }) => models !== '');
  return { ...limitFields((name) => named.get(name) ?? 0), countsCacheReads: k === 1, rates };
}

/** Reads every rate of such a text. */
export function readRates(text: string): Rate[] {
  if (text === '') return [];
  return limitsText.parse(JSON.parse(text)).w.map(([field, , , limit, models, ignoresCache]) => ({
    window: readRateField(field).window,
    limit,
    models,
    countsCacheReads: ignoresCache === 0,
  }));
}

/** Reads a name that `rateField` made. */
export function readRateField(field: string): {
  owner: RateOwner;
  window: Rate['window'];
  models: string;
} {
  const owner = field.startsWith(PREFIXES.account) ? 'account' : 'key';
  const [name = '', models = ''] = field.slice(PREFIXES[owner].length).split(' ');
  const window = NAMES.get(name);
  if (!window) throw new TypeError(`no rate is named ${JSON.stringify(field)}`);
  return { owner, window, models };
}
