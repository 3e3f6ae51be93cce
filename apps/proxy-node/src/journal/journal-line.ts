import {
  CALL_KEYS,
  laterFormat,
  routeAttemptSchema,
  USAGE_ROWS,
  usageFinalSchema,
  usageOf,
  withoutBadTelemetry,
  type TokenClass,
  type TokenUsage,
} from '@tollgate/contracts';
import { priceVersionSchema } from '@tollgate/snapshot';
import { crc32 } from 'node:zlib';
import { z } from 'zod';
import type { BackgroundRun, OpenHold } from './open-hold.ts';

const count = z.number().int().nonnegative();
const milliseconds = z.number().int().nonnegative();
const rid = z.string().min(1).max(64);

const backgroundSchema = z.object({
  upstreamId: count,
  credentialId: count.optional(),
  responseId: z.string().min(1),
  bounds: z.object({
    promptTokens: count,
    promptTextBytes: count,
    calls: z.partialRecord(z.enum(CALL_KEYS), count).optional(),
    outputTokens: count,
  }),
  attempts: z.array(routeAttemptSchema),
  traceparent: z.string().optional(),
  untilMs: milliseconds,
}) satisfies z.ZodType<BackgroundRun>;

const openHoldSchema = z.object({
  rid,
  accountId: count,
  keyHash: z.string(),
  keyId: count,
  modelId: count,
  subscriptionId: count,
  generation: count,
  epoch: z.string(),
  claims: usageFinalSchema.shape.budgets,
  price: priceVersionSchema
    .omit({ multipliers: true })
    .extend({ premiums: z.array(z.string()).optional() }),
  grantedTokens: count,
  sliceTokens: count,
  boundTokens: count,
  promptTokens: count.optional(),
  isStream: z.boolean(),
  startedAtMs: milliseconds,
  protocol: usageFinalSchema.shape.protocol,
  background: backgroundSchema.optional(),
});
/** Holds counts by class; an absent class is 0. */
export type JournalledCounts = Readonly<Partial<Record<TokenClass, number>>>;

const lineSchema = z.discriminatedUnion('t', [
  z.object({ t: z.literal('A'), hold: openHoldSchema }),
  z.object({
    t: z.literal('C'),
    at: milliseconds,
    counts: z.record(rid, z.record(z.string(), count)),
  }),
  z.object({
    t: z.literal('F'),
    at: milliseconds,
    rid,
    epoch: z.string(),
    // A line of an earlier or a later release must not lose its charge for a duration that it could not measure.
    final: z.preprocess((raw) => withoutBadTelemetry(raw).payload, usageFinalSchema),
  }),
  z.object({
    t: z.literal('K'),
    at: milliseconds,
    acks: z.array(z.tuple([rid, z.number().int()])),
  }),
]);
/**
 * A is an admission, C has counts of all running streams, F is a final that is written before it is settled, K is an acknowledgement of PostgreSQL.
 * `at` is Unix ms.
 */
export type JournalLine = z.infer<typeof lineSchema>;

export function admittedLine(hold: OpenHold): string {
  return encodeLine(JSON.stringify({ t: 'A', hold }));
}

export function countsLine(at: number, counts: Record<string, JournalledCounts>): string {
  return encodeLine(JSON.stringify({ t: 'C', at, counts }));
}

/** `payload` is the JSON text of the `UsageFinal`, which is made once for the journal and for Redis. */
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

/** Returns undefined for a line that is torn, damaged, of an unknown kind or of a later format. */
export function decodeLine(text: string): JournalLine | undefined {
  const body = text.slice(9);
  if (text[8] !== ' ' || text.slice(0, 8) !== checksum(body)) return undefined;
  try {
    const raw: unknown = JSON.parse(body);
    return isOfLater(raw) ? undefined : lineSchema.safeParse(raw).data;
  } catch {
    return undefined;
  }
}

/** A final has the format number of its event, beside that of its line. */
function isOfLater(raw: unknown): boolean {
  if (typeof raw !== 'object' || raw === null) return false;
  const later = 'final' in raw ? laterFormat('event', raw.final) : null;
  return (later ?? laterFormat('journal', raw)) !== null;
}

export function toCounts(usage: TokenUsage): JournalledCounts {
  const counts: Partial<Record<TokenClass, number>> = {};
  for (const { key, name } of USAGE_ROWS) if (usage[key] > 0) counts[name] = usage[key];
  return counts;
}

export function toUsage(counts: JournalledCounts): TokenUsage {
  return usageOf(({ name }) => counts[name] ?? 0);
}

/** Returns the higher count of each class. */
export function raisedCounts(one: JournalledCounts, other: JournalledCounts): JournalledCounts {
  const [usage, later] = [toUsage(one), toUsage(other)];
  return toCounts(usageOf(({ key }) => Math.max(usage[key], later[key])));
}

/** A complete line ends in a line feed, which JSON text never contains. */
export function encodeLine(body: string): string {
  return `${checksum(body)} ${body}\n`;
}

function checksum(body: string): string {
  return crc32(body).toString(16).padStart(8, '0');
}
