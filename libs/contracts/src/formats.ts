import { z } from 'zod';

/**
 * Documents that processes of two releases write for each other, with the highest number that this release reads. A document without a number has format 1.
 * A higher number is written only once every process has reported that it reads it (docs/internals.md#formats).
 * snapshot: the routing document. event: finals, reaps and withdrawals, in Redis, in uploads and in the queue. journal: lines on a node's disk.
 * report: of a node.
 */
export const FORMATS = { snapshot: 1, event: 1, journal: 1, report: 1 } as const;
export type Format = keyof typeof FORMATS;
/** A format that is absent, of a release that does not know it, is 1. */
export type FormatNumbers = Readonly<Record<string, number>>;

export const formatNumbersSchema = z
  .record(z.string().max(32), z.int().positive())
  .refine((numbers) => Object.keys(numbers).length <= 64, 'too many formats');

/** Matches a format that is read, as an ability of `NodeReport`. */
const READ_FORMAT = /^([a-z]+):([1-9][0-9]{0,5})$/;
/** Lists the abilities that say what this release reads. */
export const READ_FORMATS: readonly string[] = Object.entries(FORMATS).map(
  ([format, number]) => `${format}:${number}`,
);

/** Returns undefined for a process that names nothing. */
export function readFormatsOf(abilities: readonly string[]): FormatNumbers | undefined {
  const named = abilities.flatMap((ability) => {
    const [, format, number] = READ_FORMAT.exec(ability) ?? [];
    return format === undefined ? [] : [[format, Number(number)] as const];
  });
  return named.length === 0 ? undefined : Object.fromEntries(named);
}

/** Returns, for each format above 1, the highest number that all of these processes read and that may therefore be written. */
export function writableFormats(
  readers: readonly FormatNumbers[],
  written: FormatNumbers = FORMATS,
): FormatNumbers {
  const lowest = Object.entries(written).map(
    ([format, own]) =>
      [format, Math.min(own, ...readers.map((numbers) => numbers[format] ?? 1))] as const,
  );
  return Object.fromEntries(lowest.filter(([, number]) => number > 1));
}

/** Returns the number of a format that a later release wrote and whose fields may mean something else. It returns null when there is no number, or one that is read. */
export function laterFormat(format: Format, value: unknown): number | null {
  if (typeof value !== 'object' || value === null || !('format' in value)) return null;
  const { format: number } = value;
  return typeof number === 'number' && number > FORMATS[format] ? number : null;
}
