import type { RelayedEvent } from '@tollgate/contracts';
import type { EntityManager } from 'typeorm';

/** An event that cannot be booked, kept for a person to look at. */
export interface DeadLetter {
  relayed: RelayedEvent;
  reason: string;
}

/** Longer than any sound payload; a hostile one must not fill the table. */
const TEXT_CHARS_MAX = 65_536;
const SHORT_CHARS_MAX = 200;

/** Once per (rid, seq): a poison event is relayed until it is acknowledged. Answers how many are new. */
export async function bookDeadLetters(
  tx: EntityManager,
  letters: readonly DeadLetter[],
): Promise<number> {
  if (letters.length === 0) return 0;
  const rows: unknown[] = await tx.query(
    `INSERT INTO usage_dead_letters (rid, seq, delta, payload, reason)
     SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[]) ON CONFLICT (rid, seq) DO NOTHING RETURNING id`,
    [
      letters.map(({ relayed }) => storable(relayed.rid, SHORT_CHARS_MAX)),
      letters.map(({ relayed }) => storable(relayed.seq, SHORT_CHARS_MAX)),
      letters.map(({ relayed }) => storable(relayed.delta, SHORT_CHARS_MAX)),
      letters.map(({ relayed }) => storable(relayed.payload, TEXT_CHARS_MAX)),
      letters.map(({ reason }) => storable(reason, SHORT_CHARS_MAX)),
    ],
  );
  return rows.length;
}

/** PostgreSQL's text holds neither NUL nor lone surrogates. */
function storable(text: string, charsMax: number): string {
  return text.slice(0, charsMax).toWellFormed().replaceAll('\u0000', '\uFFFD');
}
