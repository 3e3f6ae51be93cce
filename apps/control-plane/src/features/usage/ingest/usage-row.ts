import { TOKEN_FIELDS, type UsageFinal, type UsagePayload } from '@tollgate/contracts';
import { arrayLiteral, type ArrayCell } from '../../../platform/database/array-literal.ts';
import { copied } from '../../../platform/database/copied.ts';
import { copyCell } from '../../../platform/database/copy-cell.ts';
import { prepared } from '../../../platform/database/prepared.ts';
import { dayOf } from './dropped-days.sql.ts';
import type { ReadEvent } from './read-event.ts';

interface Column {
  name: string;
  type: string;
  of(read: ReadEvent): ArrayCell;
}

const final =
  (read: (payload: UsageFinal) => ArrayCell) =>
  (event: ReadEvent): ArrayCell =>
    event.event.payload.kind === 'usage' ? read(event.event.payload) : null;
const request =
  (read: (payload: Exclude<UsagePayload, { kind: 'withdraw' }>) => ArrayCell) =>
  (event: ReadEvent): ArrayCell =>
    event.event.payload.kind === 'withdraw' ? null : read(event.event.payload);

/** Maps an event to the columns of usage_events. No other code does. */
const COLUMNS: readonly Column[] = [
  { name: 'day', type: 'date', of: (read) => dayOf(read.beganAtMs) },
  { name: 'rid', type: 'uuid', of: (read) => read.event.rid },
  { name: 'seq', type: 'smallint', of: (read) => read.event.seq },
  { name: 'kind', type: 'text', of: (read) => read.event.payload.kind },
  { name: 'user_id', type: 'integer', of: (read) => read.event.payload.account_id },
  { name: 'subscription_id', type: 'integer', of: (read) => read.event.payload.subscription_id },
  { name: 'model_id', type: 'integer', of: (read) => read.event.payload.model_id },
  { name: 'key_id', type: 'integer', of: request((payload) => payload.key_id) },
  { name: 'price_version_id', type: 'integer', of: request((payload) => payload.price_version_id) },
  { name: 'delta', type: 'bigint', of: (read) => read.event.delta },
  { name: 'charge', type: 'bigint', of: final((payload) => payload.charge) },
  { name: 'basis', type: 'text', of: final((payload) => payload.basis) },
  {
    name: 'premiums',
    type: 'jsonb',
    of: final(({ premiums }) => (premiums ? JSON.stringify(premiums) : null)),
  },
  { name: 'node', type: 'text', of: request((payload) => payload.node) },
  { name: 'protocol', type: 'text', of: final((payload) => payload.protocol) },
  { name: 'is_stream', type: 'boolean', of: final((payload) => payload.is_stream) },
  { name: 'upstream_id', type: 'integer', of: final((payload) => payload.upstream_id) },
  { name: 'attempts', type: 'jsonb', of: final((payload) => JSON.stringify(payload.attempts)) },
  { name: 'outcome', type: 'text', of: (read) => outcomeOf(read.event.payload) },
  { name: 'status', type: 'integer', of: final((payload) => payload.status) },
  ...TOKEN_FIELDS.map((name) => ({
    name,
    type: 'bigint',
    of: final((payload) => payload[name] ?? 0),
  })),
  // The rid decides the start, never the payload: a reap knows no other figure, and its correction must be in the same hour.
  { name: 'started_at', type: 'timestamptz', of: (read) => new Date(read.beganAtMs).toISOString() },
  { name: 'first_token_ms', type: 'integer', of: final((payload) => payload.first_token_ms) },
  { name: 'duration_ms', type: 'integer', of: final((payload) => payload.duration_ms) },
  { name: 'budgets', type: 'text', of: request((payload) => payload.budgets ?? null) },
  { name: 'shard', type: 'text', of: (read) => read.relayed.shard || null },
  { name: 'outbox_ms', type: 'bigint', of: (read) => outboxPart(read.relayed.outboxId, 0) },
  { name: 'outbox_n', type: 'bigint', of: (read) => outboxPart(read.relayed.outboxId, 1) },
];

/**
 * Inserts new events and returns their (rid, seq) in one round trip for a whole batch. `usageRowParameters` makes the parameters. The time is read
 * under the lock of the epochs and not at the start of the transaction, because it separates what was booked before a shard was filled from what was
 * booked after.
 */
export const INSERT_USAGE_EVENTS = prepared(`
  INSERT INTO usage_events (${COLUMNS.map((column) => column.name).join(', ')}, created_at)
  SELECT *, clock_timestamp() FROM unnest(${COLUMNS.map((column, index) => `$${index + 1}::${column.type}[]`).join(', ')})
  ON CONFLICT DO NOTHING
  RETURNING rid, seq`);

/** Takes the text of `usageRowText`. It fails as a whole when a row exists already. */
export const COPY_USAGE_EVENTS = copied(
  `COPY usage_events (${COLUMNS.map((column) => column.name).join(', ')}, created_at) FROM STDIN`,
);

/** `now` is the time that `INSERT_USAGE_EVENTS` reads. */
export function usageRowText(events: readonly ReadEvent[], now: string): string {
  const texts = COLUMNS.map(() => '');
  // Many columns have the same value in all rows of a batch.
  const last: (ArrayCell | undefined)[] = COLUMNS.map(() => undefined);
  let rows = '';
  for (const read of events) {
    for (let index = 0; index < COLUMNS.length; index += 1) {
      const cell = cellOf(COLUMNS[index] as Column, read);
      if (cell !== last[index]) texts[index] = copyCell(cell);
      last[index] = cell;
    }
    rows += `${texts.join('\t')}\t${now}\n`;
  }
  return rows;
}

/** Returns one array per column. The caller sorts the events, so that workers with the same duplicates lock in one order. */
export function usageRowParameters(events: readonly ReadEvent[]): string[] {
  return COLUMNS.map((column) => arrayLiteral(events.map((read) => cellOf(column, read))));
}

/** Unreadable telemetry is unknown; the start of a request is known from its id. */
function cellOf(column: Column, read: ReadEvent): ArrayCell {
  const isUnknown =
    read.unreadable.length > 0 &&
    column.name !== 'started_at' &&
    read.unreadable.includes(column.name);
  return isUnknown ? null : column.of(read);
}

function outcomeOf(payload: UsagePayload): ArrayCell {
  if (payload.kind === 'usage') return payload.outcome;
  return payload.kind === 'reap' ? 'node_lost' : null;
}

/** Events that did not come through an outbox (such as a withdrawal that the control plane books itself) have no position in one. */
function outboxPart(outboxId: string, index: 0 | 1): string | null {
  const match = /^(\d{1,18})-(\d{1,18})$/.exec(outboxId);
  return match?.[index + 1] ?? null;
}
