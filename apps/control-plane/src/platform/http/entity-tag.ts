import { z } from 'zod';
import { Refusal } from './refusal.ts';

/** Is the id in the tag of a record that exists only once. */
const SINGLETON_ID = 0;

const tagged = z.object({ id: z.number().default(SINGLETON_ID), updated_at: z.iso.datetime() });

/** Returns the tag of a record, from its id and the time of its last change (RFC 9110 8.8.3); undefined for an answer that is not such a record. */
export function entityTagOf(answer: unknown): string | undefined {
  const record = tagged.safeParse(answer);
  return record.success
    ? formatTag({ id: record.data.id, updatedAt: new Date(record.data.updated_at) })
    : undefined;
}

/** Throws precondition_failed when a PUT came with `If-Match` and the locked record has changed since the caller read it. */
export function refuseStale(
  { ifMatch }: { ifMatch?: string | undefined },
  row: { id?: number; updatedAt: Date },
): void {
  if (ifMatch === undefined) return;
  const accepted = new Set(ifMatch.split(',').map((tag) => tag.trim()));
  if (!accepted.has('*') && !accepted.has(formatTag(row))) throw new Refusal('precondition_failed');
}

function formatTag({ id = SINGLETON_ID, updatedAt }: { id?: number; updatedAt: Date }): string {
  return `"${id}-${updatedAt.getTime().toString(36)}"`;
}
