import type { RelayedEvent } from '@tollgate/contracts';
import type { EntityManager } from 'typeorm';
import { isRequestId, uuidTimeMs } from './read-event.ts';

/** Describes an event that cannot be booked and is kept for a person. */
export interface DeadLetter {
  relayed: RelayedEvent;
  reason: string;
  /** Is true for an event that is kept even when another event with its number is booked. */
  isEvidence?: boolean;
}

/** Is longer than any valid payload; a hostile payload must not fill the table. */
const TEXT_CHARS_MAX = 65_536;
const SHORT_CHARS_MAX = 200;

/**
 * Stores letters once per (rid, seq), of two the earlier one, because a poison event is relayed until it is acknowledged. An event whose number is
 * booked is a duplicate and gets no letter: a node that was killed on a full disk repeats what it knows of a request, which may be less than what was
 * booked. Returns how many are new.
 */
export async function bookDeadLetters(
  tx: EntityManager,
  letters: readonly DeadLetter[],
): Promise<number> {
  if (letters.length === 0) return 0;
  const rows: unknown[] = await tx.query(
    `INSERT INTO usage_dead_letters (rid, seq, delta, payload, reason)
     SELECT v.rid, v.seq, v.delta, v.payload, v.reason
     FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::date[], $7::uuid[]) WITH ORDINALITY
       AS v(rid, seq, delta, payload, reason, day, request, n)
     WHERE NOT EXISTS (SELECT 1 FROM usage_events u WHERE u.day = v.day AND u.rid = v.request AND u.seq::text = v.seq)
     ORDER BY v.n ON CONFLICT (rid, seq) DO NOTHING RETURNING id`,
    [
      letters.map(({ relayed }) => storable(relayed.rid, SHORT_CHARS_MAX)),
      letters.map(({ relayed }) => storable(relayed.seq, SHORT_CHARS_MAX)),
      letters.map(({ relayed }) => storable(relayed.delta, SHORT_CHARS_MAX)),
      letters.map(({ relayed }) => storable(relayed.payload, TEXT_CHARS_MAX)),
      letters.map(({ reason }) => storable(reason, SHORT_CHARS_MAX)),
      letters.map((letter) => numberOf(letter)?.day ?? null),
      letters.map((letter) => numberOf(letter)?.rid ?? null),
    ],
  );
  return rows.length;
}

/** Returns the request under which its number would be booked; null when there is none, or it does not matter. */
function numberOf({
  relayed: { rid },
  isEvidence = false,
}: DeadLetter): { rid: string; day: string } | null {
  if (isEvidence || !isRequestId(rid)) return null;
  return { rid, day: new Date(uuidTimeMs(rid)).toISOString().slice(0, 10) };
}

/** PostgreSQL's text stores neither NUL nor lone surrogates. */
function storable(text: string, charsMax: number): string {
  return text.slice(0, charsMax).toWellFormed().replaceAll('\u0000', '\uFFFD');
}
