import { createHash } from 'node:crypto';
import { z } from 'zod';
import { canonicalJson } from './canonical-json.ts';
import {
  SNAPSHOT_FORMAT,
  publishedSnapshotSchema,
  type PublishedSnapshot,
  type SnapshotDocument,
} from './snapshot-document.ts';

/** Returns the SHA-256 of the canonical JSON of the document, in lower-case hex. */
export function checksumOf(document: unknown): string {
  return createHash('sha256').update(canonicalJson(document)).digest('hex');
}

export function publishSnapshot({
  version,
  document,
  publishedAtMs,
}: {
  version: number;
  document: SnapshotDocument;
  publishedAtMs: number;
}): PublishedSnapshot {
  return { version, checksum: checksumOf(document), published_at: publishedAtMs, document };
}

export type SnapshotVerdict =
  | { kind: 'ok'; snapshot: PublishedSnapshot }
  /** `message` fits `NodeReport.refused`. */
  | { kind: 'refused'; reason: 'format_unknown' | 'checksum_mismatch' | 'schema'; message: string };

const formatOnly = z.object({ document: z.object({ format: z.unknown() }) });

/**
 * Judges what came from Redis or a disk before anything of it is used. The format is checked first: a document of a
 * later release would fail the schema too, and "unknown format" is what its operator must read. The schema is strict and
 * changes nothing, so the checksum of what it returns is the checksum of what arrived.
 */
export function verifySnapshot(published: unknown): SnapshotVerdict {
  const head = formatOnly.safeParse(published);
  if (!head.success) return refused('schema', 'not a published snapshot');
  const { document } = head.data;
  if (document.format !== SNAPSHOT_FORMAT)
    return refused(
      'format_unknown',
      `document format ${JSON.stringify(document.format)?.slice(0, 40)} is unknown; this release reads ${SNAPSHOT_FORMAT}`,
    );
  const parsed = publishedSnapshotSchema.safeParse(published);
  if (!parsed.success) return refused('schema', z.prettifyError(parsed.error).slice(0, 400));
  const checksum = checksumOf(parsed.data.document);
  if (checksum !== parsed.data.checksum)
    return refused(
      'checksum_mismatch',
      `checksum is ${checksum}, announced was ${parsed.data.checksum.slice(0, 64)}`,
    );
  return { kind: 'ok', snapshot: parsed.data };
}

function refused(
  reason: 'format_unknown' | 'checksum_mismatch' | 'schema',
  message: string,
): SnapshotVerdict {
  return { kind: 'refused', reason, message };
}
