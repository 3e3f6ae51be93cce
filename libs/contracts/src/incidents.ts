import { z } from 'zod';

/** Refused requests of one key and minute that are kept whole; the others are counted. */
export const REFUSED_KEPT_MAX = 100;
/** Bytes of an upstream's error that are kept. */
export const EXCERPT_BYTES_MAX = 1_024;
/** Characters of what a refused client was answered that are kept. */
export const REFUSED_MESSAGE_MAX = 300;

/** Entries of one report, so that it stays below 128 KB. */
export const INCIDENTS_MAX = { refused: 100, counts: 250, excerpts: 20 } as const;

const unixMs = z.number().int().nonnegative();
const status = z.number().int().min(100).max(999);
/** PostgreSQL holds neither NUL nor lone surrogates in texts. */
const text = (charsMax: number) =>
  z
    .string()
    .max(charsMax)
    .refine((value) => value.isWellFormed() && !value.includes('\u0000'), 'is no storable text');
const code = text(64).min(1);
const rowId = z.number().int().positive().max(2_147_483_647);
/** SHA-256 of the keys that were presented, two at most. They may be made up. */
const keyHashes = z.array(z.string().regex(/^[0-9a-f]{64}$/)).max(2);

/** A request that was answered with an error before it was admitted: it has no usage. */
const refusedSchema = z.strictObject({
  rid: z.uuid(),
  at: unixMs,
  key_hashes: keyHashes,
  status,
  code,
  /** Is the name in the request; null where it was not read. */
  model: text(128).nullable(),
  message: text(REFUSED_MESSAGE_MAX),
});
export type RefusedRequest = z.infer<typeof refusedSchema>;

/** Counts the refusals of a key, status and code since the report before, those that are kept whole included. `minute`: its begin. */
const refusalCountSchema = z.strictObject({
  minute: unixMs,
  key_hashes: keyHashes,
  status,
  code,
  count: z.number().int().positive(),
});
export type RefusalCount = z.infer<typeof refusalCountSchema>;

/** Holds what an upstream answered in place of a 2xx, without secrets. `place`: of the attempt among those of the request. */
const errorExcerptSchema = z.strictObject({
  rid: z.uuid(),
  at: unixMs,
  place: z.number().int().nonnegative().max(255),
  account_id: rowId,
  upstream_id: rowId,
  status,
  excerpt: text(EXCERPT_BYTES_MAX),
});
export type ErrorExcerpt = z.infer<typeof errorExcerptSchema>;

/** Holds what went wrong at a worker since its last report. None of it decides about charges. */
export const incidentsSchema = z.strictObject({
  refused: z.array(refusedSchema).max(INCIDENTS_MAX.refused),
  counts: z.array(refusalCountSchema).max(INCIDENTS_MAX.counts),
  excerpts: z.array(errorExcerptSchema).max(INCIDENTS_MAX.excerpts),
});
export type Incidents = z.infer<typeof incidentsSchema>;

/** Is the form in Redis: `body` is `Incidents` as JSON, `proof` that of an upload (`proveUpload`). */
export interface IncidentUpload {
  node: string;
  atMs: number;
  body: string;
  proof: string;
}
