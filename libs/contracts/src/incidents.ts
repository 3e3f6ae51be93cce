import { z } from 'zod';

/** Limits the refused requests of one key and minute that are stored completely; further ones are counted. */
export const REFUSED_KEPT_MAX = 100;
/** Limits the stored bytes of an upstream's error. */
export const EXCERPT_BYTES_MAX = 1_024;
/** Limits the stored characters of the message that a refused client got. */
export const REFUSED_MESSAGE_MAX = 300;

/** One report has at most this many entries, so that it stays below 128 KB. */
export const INCIDENTS_MAX = { refused: 100, counts: 250, excerpts: 20 } as const;

const unixMs = z.number().int().nonnegative();
const status = z.number().int().min(100).max(999);
/** PostgreSQL stores neither NUL nor lone surrogates in texts. */
const text = (charsMax: number) =>
  z
    .string()
    .max(charsMax)
    .refine((value) => value.isWellFormed() && !value.includes('\u0000'), 'is no storable text');
const code = text(64).min(1);
const rowId = z.number().int().positive().max(2_147_483_647);
/** Holds the SHA-256 of at most two presented keys, which may not exist. */
const keyHashes = z.array(z.string().regex(/^[0-9a-f]{64}$/)).max(2);

/** Describes a request that was refused before admission and has no usage. */
const refusedSchema = z.strictObject({
  rid: z.uuid(),
  at: unixMs,
  key_hashes: keyHashes,
  status,
  code,
  /** Is the model name in the request; null where it was not read. */
  model: text(128).nullable(),
  message: text(REFUSED_MESSAGE_MAX),
});
export type RefusedRequest = z.infer<typeof refusedSchema>;

/** Counts the refusals of a key, status and code since the previous report, including completely stored ones. `minute` is its start. */
const refusalCountSchema = z.strictObject({
  minute: unixMs,
  key_hashes: keyHashes,
  status,
  code,
  count: z.number().int().positive(),
});
export type RefusalCount = z.infer<typeof refusalCountSchema>;

/** Holds an excerpt of an upstream's error answer, without secrets. `place` is the attempt's number in the request. */
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

/** Holds the incidents of a worker since its last report. They never affect charges. */
export const incidentsSchema = z.strictObject({
  refused: z.array(refusedSchema).max(INCIDENTS_MAX.refused),
  counts: z.array(refusalCountSchema).max(INCIDENTS_MAX.counts),
  excerpts: z.array(errorExcerptSchema).max(INCIDENTS_MAX.excerpts),
});
export type Incidents = z.infer<typeof incidentsSchema>;

/** Has the form in Redis: `body` is `Incidents` as JSON, and `proof` is that of an upload (`proveUpload`). */
export interface IncidentUpload {
  node: string;
  atMs: number;
  body: string;
  proof: string;
}
