import { TOKEN_CLASSES, type TokenClassRow } from './token-classes.ts';
import {
  tokenField,
  type CallCounts,
  type CallKey,
  type ChargedClass,
  type TokenClass,
  type TokenField,
} from './token-fields.ts';

type Row = (typeof TOKEN_CLASSES)[number];
type OutputRow = Extract<Row, { side: 'output' }>;

/** Holds usage in normal form (docs/design/protocols.md#usage): what the upstream reported, by arithmetic. The charged classes share no token. All values are non-negative safe integers, in the unit of their class; every class is present. */
export type TokenUsage = { [R in Row as R['key']]: number };
export type UsageKey = keyof TokenUsage;
/** Counts the tokens that were generated. */
export type OutputUsage = { [R in OutputRow as R['key']]: number };

export type UsageRow = TokenClassRow & { name: TokenClass; key: UsageKey; field: TokenField };
export const USAGE_ROWS: readonly UsageRow[] = TOKEN_CLASSES.map((row) => ({
  ...row,
  field: tokenField(row),
}));
export const USAGE_KEYS: readonly UsageKey[] = USAGE_ROWS.map(({ key }) => key);
const PROMPT_KEYS = keysOf((row) => isChargedToken(row) && row.side === 'prompt');
const OUTPUT_KEYS = keysOf((row) => isChargedToken(row) && row.side === 'output');
/** Lists the classes that count calls. */
export const CALL_ROWS = USAGE_ROWS.filter(({ unit }) => unit === 'call') as readonly (UsageRow & {
  name: ChargedClass;
  key: CallKey;
})[];
export const CALL_KEYS = CALL_ROWS.map(({ key }) => key);
/** Pairs each informative class with the class that counts its tokens as well. */
const PARTS = USAGE_ROWS.filter((row) => !row.isCharged).map(
  ({ key, parent }) => [key, keyOf(parent)] as const,
);

const OUTPUT_PARTS = PARTS.filter(([, parent]) => OUTPUT_KEYS.includes(parent));

export const NO_USAGE: TokenUsage = Object.freeze(
  Object.fromEntries(USAGE_KEYS.map((key) => [key, 0])) as TokenUsage,
);
export const NO_OUTPUT: OutputUsage = Object.freeze(
  Object.fromEntries(keysOf(({ side }) => side === 'output').map((key) => [key, 0])) as OutputUsage,
);

/** Holds an upstream's report of an answer. A side that the report does not name counts 0 here, and is not charged as 0: `isSideReported` distinguishes the two. */
export type ReportedUsage = TokenUsage & {
  readonly unreported?: UsageSide | undefined;
  /** Names the ordinary services at which it was made, such as `service_tier=default`; absent where the upstream names none. */
  readonly services?: readonly string[] | undefined;
};
export type UsageSide = Row['side'];
const USAGE_SIDES: readonly UsageSide[] = ['prompt', 'output'];

/** Is the source of a charge: the upstream's own report, or the gateway's count where it reported nothing. */
export type ChargeBasis = 'reported' | 'estimated';

/** Makes usage with a count for each class. A copy that is filled has its shape at once: `Object.fromEntries` grows one member by member, and costs four times that. */
export function usageOf(countOf: (row: UsageRow) => number): TokenUsage {
  const usage = { ...NO_USAGE };
  for (const row of USAGE_ROWS) usage[row.key] = countOf(row);
  return usage;
}

/** Counts all that the upstream read. */
export function promptTokensOf(usage: TokenUsage): number {
  return sumOf(usage, PROMPT_KEYS);
}

/** Returns true for a charged class that counts tokens of the prompt or of the output. */
export function isChargedToken({ isCharged, unit }: UsageRow): boolean {
  return isCharged && unit === 'token';
}

/** Returns `usage` with at most so many calls of each class. */
export function callsUpTo(usage: TokenUsage, limits: CallCounts): TokenUsage {
  const cut = { ...usage };
  for (const key of CALL_KEYS) cut[key] = Math.min(usage[key], limits[key] ?? 0);
  return cut;
}

/** Counts all that the upstream generated. */
export function outputTokensOf(usage: OutputUsage): number {
  return sumOf(usage as TokenUsage, OUTPUT_KEYS);
}

/** Returns what rates and budgets of tokens count of a request: all that was read and generated, and the same without what was read from a cache. */
export function ratedTokensOf(
  counts: Readonly<Partial<Record<TokenField, number | null | undefined>>>,
): {
  all: number;
  uncached: number;
} {
  let all = 0;
  for (const row of USAGE_ROWS) if (isChargedToken(row)) all += counts[row.field] ?? 0;
  return { all, uncached: all - (counts.cache_read_tokens ?? 0) };
}

/** Returns the output of `usage`, at most `limit` tokens of it: the classes keep their tokens in the table's order, and no part is above its whole. */
export function outputUpTo(usage: OutputUsage, limit: number): OutputUsage {
  let left = limit;
  const cut = { ...NO_OUTPUT } as TokenUsage;
  for (const key of OUTPUT_KEYS) {
    cut[key] = Math.min((usage as TokenUsage)[key], left);
    left -= cut[key];
  }
  for (const [key, parent] of OUTPUT_PARTS)
    cut[key] = Math.min((usage as TokenUsage)[key], cut[parent]);
  return cut;
}

/** Returns `usage` with at most `limit` tokens of its prompt: the excess is taken from the last classes of the table first, and from plain input last. */
export function promptUpTo(usage: TokenUsage, limit: number): TokenUsage {
  let left = limit;
  const cut = { ...usage };
  for (const key of PROMPT_KEYS) {
    cut[key] = Math.min(usage[key], left);
    left -= cut[key];
  }
  return cut;
}

export function isSideReported({ unreported }: ReportedUsage, side: UsageSide): boolean {
  return unreported !== side;
}

/**
 * Joins two reports of one answer: each side is that of the greater report, the later one where they are equal. Sides are not mixed, because a later
 * report may only name a class for what an earlier one had in another.
 */
export function greaterReport<Report extends ReportedUsage | null>(
  earlier: ReportedUsage | null,
  later: Report,
): ReportedUsage | Report {
  if (earlier === null) return later;
  if (later === null) return earlier;
  const sides = {
    prompt: greaterSide(earlier, later, 'prompt'),
    output: greaterSide(earlier, later, 'output'),
  };
  const services = later.services ?? earlier.services;
  if (sides.prompt === sides.output && sides.prompt.services === services) return sides.prompt;
  const unreported = USAGE_SIDES.find((side) => !isSideReported(sides[side], side));
  return {
    ...usageOf(({ key, side }) => sides[side][key]),
    ...(unreported && { unreported }),
    ...(services && { services }),
  };
}

function greaterSide(earlier: ReportedUsage, later: ReportedUsage, side: UsageSide): ReportedUsage {
  if (!isSideReported(later, side)) return earlier;
  if (!isSideReported(earlier, side)) return later;
  const tokensOf = side === 'prompt' ? promptTokensOf : outputTokensOf;
  return tokensOf(earlier) > tokensOf(later) ? earlier : later;
}

/** Returns the usage with its own prompt, and the output of both. */
export function withMoreOutput(usage: TokenUsage, more: OutputUsage): TokenUsage {
  return usageOf(
    ({ key, side }) => usage[key] + (side === 'output' ? (more as TokenUsage)[key] : 0),
  );
}

/** Returns the usage with at least this many output tokens: missing ones count as text. */
export function withOutputAtLeast(usage: TokenUsage, tokens: number): TokenUsage {
  const missing = tokens - outputTokensOf(usage);
  return missing > 0 ? { ...usage, output: usage.output + missing } : usage;
}

/** Returns whether both report the same prompt, class by class. */
export function isSamePrompt(one: TokenUsage, other: TokenUsage): boolean {
  return [...PROMPT_KEYS, ...CALL_KEYS].every((key) => one[key] === other[key]);
}

/** Returns the usage with no informative class above its parent. */
export function withSoundParts(usage: TokenUsage): TokenUsage {
  const sound = { ...usage };
  for (const [key, parent] of PARTS) sound[key] = Math.min(usage[key], usage[parent]);
  return sound;
}

/** Returns the token fields of a final. An optional class is present only where it was used. */
export function tokenFieldsOf(usage: TokenUsage): FinalTokens {
  const fields: Partial<Record<TokenField, number>> = {};
  for (const { key, field, isOptional } of USAGE_ROWS)
    if (!isOptional || usage[key] > 0) fields[field] = usage[key];
  return fields as FinalTokens;
}

/** Returns the tokens that a final says it used. A class that it does not name is 0. */
export function usageOfFinal(
  final: Readonly<Partial<Record<TokenField, number | undefined>>>,
): TokenUsage {
  return usageOf(({ field }) => final[field] ?? 0);
}

/** Holds the counts of an event, in which the optional classes may be absent. */
export type FinalTokens = {
  [R in Exclude<Row, { isOptional: true }> as `${R['name']}_tokens`]: number;
} & { [Field in OptionalField]?: number | undefined };
type OptionalField = Exclude<TokenField, `${Exclude<Row, { isOptional: true }>['name']}_tokens`>;

function sumOf(usage: TokenUsage, keys: readonly UsageKey[]): number {
  let sum = 0;
  for (const key of keys) sum += usage[key];
  return sum;
}

function keysOf(isWanted: (row: UsageRow) => boolean): UsageKey[] {
  return USAGE_ROWS.filter(isWanted).map(({ key }) => key);
}

function keyOf(name: string | null): UsageKey {
  const row = USAGE_ROWS.find((candidate) => candidate.name === name);
  if (!row) throw new Error(`there is no token class ${name}`);
  return row.key;
}
