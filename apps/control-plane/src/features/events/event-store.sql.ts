import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { z } from 'zod';
import { isAfter, type EventPosition } from './event-position.ts';

/** A reader that was away longer gets `reset` and reads everything again. */
const KEPT_MINUTES = 15;
/** One statement deletes at most this many rows, so that it blocks nothing. */
const FORGOTTEN_MAX = 50_000;

const bigint = z.string().transform(BigInt);
const eventRow = z.object({
  xid: bigint,
  id: bigint,
  user_id: z.number().nullable(),
  kind: z.enum(['alert', 'node', 'requests', 'balance', 'wallet']),
  data: z.record(z.string(), z.unknown()),
});
export type StoredEvent = z.output<typeof eventRow>;
const boundsRow = z.object({ settled: bigint, horizon: bigint });

interface NodeNote {
  nodeId: number;
  /** Is the time of the report in Unix milliseconds. */
  reportedAt: number;
  text: string;
}

/**
 * Reads `stream_events` in an order that loses no event. Triggers write the table in the transactions that cause the events; this class writes the
 * events of nodes.
 */
@Injectable()
export class EventStore {
  constructor(private readonly dataSource: DataSource) {}

  /** Returns the position at which a stream that begins now starts: everything before it is complete. */
  async now(): Promise<EventPosition> {
    return { xid: (await this.bounds()).settled, id: 0n };
  }

  /**
   * Returns false when events after `position` have been deleted, or when it is ahead of everything complete: it is then invented, or comes from
   * another database, as after a restore.
   */
  async holds(position: EventPosition): Promise<boolean> {
    const { horizon, settled } = await this.bounds();
    return position.xid > horizon && !isAfter(position, { xid: settled, id: 0n });
  }

  /** Returns events oldest first, only of transactions below which none still runs, so that later events always have a later position. */
  async after(
    { xid, id }: EventPosition,
    { limit, userId }: { limit: number; userId?: number | undefined },
  ): Promise<StoredEvent[]> {
    const rows: unknown[] = await this.dataSource.query(
      // The ORDER BY names the table: the bare name is the output column, which is text, and '10' sorts before '9'.
      `SELECT e.xid::text AS xid, e.id::text AS id, e.user_id, e.kind, e.data FROM stream_events e
       WHERE (e.xid, e.id) > ($1::xid8, $2) AND e.xid < pg_snapshot_xmin(pg_current_snapshot()) AND ($4::int IS NULL OR e.user_id = $4)
       ORDER BY e.xid, e.id LIMIT $3`,
      [xid.toString(), id.toString(), limit, userId ?? null],
    );
    return rows.map((row) => eventRow.parse(row));
  }

  /** Writes an event for a node's latest report, unless the stored event says the same or is newer. `text` is the event in JSON. */
  async noteNode({ nodeId, reportedAt, text }: NodeNote): Promise<void> {
    await this.dataSource.query(
      `WITH noted AS (
         INSERT INTO stream_nodes (node_id, reported_at, data) VALUES ($1, $2, $3)
         ON CONFLICT (node_id) DO UPDATE SET reported_at = excluded.reported_at, data = excluded.data
           WHERE stream_nodes.reported_at <= excluded.reported_at AND stream_nodes.data <> excluded.data
         RETURNING data)
       INSERT INTO stream_events (kind, data) SELECT 'node', data FROM noted`,
      [nodeId, reportedAt, text],
    );
  }

  /** Deletes events that are older than KEPT_MINUTES and stores the position up to which it deleted. Every replica may do it. */
  async forgetOld(): Promise<void> {
    await this.dataSource.query(
      `WITH old AS (
         SELECT xid, id FROM stream_events WHERE created_at < now() - make_interval(mins => $1)
         ORDER BY xid, id LIMIT $2 FOR UPDATE SKIP LOCKED),
       gone AS (DELETE FROM stream_events e USING old WHERE e.xid = old.xid AND e.id = old.id RETURNING e.xid)
       UPDATE stream_horizon SET xid = greatest(stream_horizon.xid, (SELECT max(xid) FROM gone))
       WHERE EXISTS (SELECT 1 FROM gone)`,
      [KEPT_MINUTES, FORGOTTEN_MAX],
    );
  }

  private async bounds() {
    const rows: unknown[] = await this.dataSource.query(
      `SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS settled, (SELECT xid::text FROM stream_horizon) AS horizon`,
    );
    return boundsRow.parse(rows[0]);
  }
}
