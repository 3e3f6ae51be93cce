import { usageFinalSchema, withoutBadTelemetry, type TokenUsage } from '@tollgate/contracts';
import { priceVersionSchema } from '@tollgate/snapshot';
import { crc32 } from 'node:zlib';
import { z } from 'zod';
import type { OpenHold } from './books.ts';

const count = z.number().int().nonnegative();
const milliseconds = z.number().int().nonnegative();
const rid = z.string().min(1).max(64);

const openHoldSchema = z.object({
  rid,
  accountId: count,
  keyHash: z.string(),
  keyId: count,
  modelId: count,
  subscriptionId: count,
  /** Absent from lines of earlier builds. */
  generation: count.default(0),
  epoch: z.string(),
  price: priceVersionSchema
    .omit({ multipliers: true })
    .extend({ premiums: z.array(z.string()).optional() }),
  grantedTokens: count,
  sliceTokens: count,
  boundTokens: count,
  isStream: z.boolean(),
  startedAtMs: milliseconds,
  protocol: usageFinalSchema.shape.protocol,
});
/** input, cacheRead, cacheWrite, output, reasoning. */
const countsSchema = z.tuple([count, count, count, count, count]);
export type JournalledCounts = z.infer<typeof countsSchema>;

const lineSchema = z.discriminatedUnion('t', [
  z.object({ t: z.literal('A'), hold: openHoldSchema }),
  z.object({ t: z.literal('C'), at: milliseconds, counts: z.record(rid, countsSchema) }),
  z.object({
    t: z.literal('F'),
    at: milliseconds,
    rid,
    epoch: z.string(),
    // What an earlier or a later release wrote must not lose its charge for a duration it could not measure.
    final: z.preprocess((raw) => withoutBadTelemetry(raw).payload, usageFinalSchema),
  }),
  z.object({
    t: z.literal('K'),
    at: milliseconds,
    acks: z.array(z.tuple([rid, z.number().int()])),
  }),
]);
/** A: admitted. C: counts of all running streams. F: final, written before it is settled. K: acknowledged by PostgreSQL. `at` is Unix ms. */
export type JournalLine = z.infer<typeof lineSchema>;

export function admittedLine(hold: OpenHold): string {
  return encodeLine(JSON.stringify({ t: 'A', hold }));
}

export function countsLine(at: number, counts: Record<string, JournalledCounts>): string {
  return encodeLine(JSON.stringify({ t: 'C', at, counts }));
}

/** `payload` is the JSON text of the `UsageFinal`: made once, for the journal and for Redis. */
export function finalLine({
  atMs,
  rid,
  epoch,
  payload,
}: {
  atMs: number;
  rid: string;
  epoch: string;
  payload: string;
}): string {
  return encodeLine(
    `{"t":"F","at":${atMs},"rid":${JSON.stringify(rid)},"epoch":${JSON.stringify(epoch)},"final":${payload}}`,
  );
}

export function acknowledgedLine(at: number, acks: [rid: string, seq: number][]): string {
  return encodeLine(JSON.stringify({ t: 'K', at, acks }));
}

/** Undefined for a line that is torn, damaged or of an unknown kind. */
export function decodeLine(text: string): JournalLine | undefined {
  const body = text.slice(9);
  if (text[8] !== ' ' || text.slice(0, 8) !== checksum(body)) return undefined;
  try {
    return lineSchema.safeParse(JSON.parse(body)).data;
  } catch {
    return undefined;
  }
}

export function toCounts({
  input,
  cacheRead,
  cacheWrite,
  output,
  reasoning,
}: TokenUsage): JournalledCounts {
  return [input, cacheRead, cacheWrite, output, reasoning];
}

export function toUsage([
  input,
  cacheRead,
  cacheWrite,
  output,
  reasoning,
]: JournalledCounts): TokenUsage {
  return { input, cacheRead, cacheWrite, output, reasoning };
}

/** A whole line always ends in a line feed; JSON text never contains one. */
export function encodeLine(body: string): string {
  return `${checksum(body)} ${body}\n`;
}

function checksum(body: string): string {
  return crc32(body).toString(16).padStart(8, '0');
}
