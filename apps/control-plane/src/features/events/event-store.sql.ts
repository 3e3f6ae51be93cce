import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { z } from 'zod';
import { isAfter, type EventPosition } from './event-position.ts';

/** A reader that was away longer gets `reset` and reads again. */
const KEPT_MINUTES = 15;
/** Rows deleted in one statement: it must not hold up anything. */
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
  /** Unix milliseconds. */
  reportedAt: number;
  text: string;
}

/** `stream_events` is written by triggers, in the transactions that cause the events, and for nodes here. This reads it, in an order that loses none. */
@Injectable()
export class EventStore {
  constructor(private readonly dataSource: DataSource) {}

  /** Returns the place at which a stream that begins now starts: everything below is settled. */
  async now(): Promise<EventPosition> {
    return { xid: (await this.bounds()).settled, id: 0n };
  }

  /** False when events after `position` have been deleted already, or when it lies ahead of what is settled: it is of another database, as after a restored backup, or invented. */
  async holds(position: EventPosition): Promise<boolean> {
    const { horizon, settled } = await this.bounds();
    return position.xid > horizon && !isAfter(position, { xid: settled, id: 0n });
  }

  /** Oldest first, only of transactions below which none still runs: what comes later always stands behind what was read. */
  async after(
    { xid, id }: EventPosition,
    { limit, userId }: { limit: number; userId?: number | undefined },
  ): Promise<StoredEvent[]> {
    const rows: unknown[] = await this.dataSource.query(
      // The table is named in the order: a name alone is the column of the answer, which is text, and '10' comes before '9'.
      `SELECT e.xid::text AS xid, e.id::text AS id, e.user_id, e.kind, e.data FROM stream_events e
       WHERE (e.xid, e.id) > ($1::xid8, $2) AND e.xid < pg_snapshot_xmin(pg_current_snapshot()) AND ($4::int IS NULL OR e.user_id = $4)
       ORDER BY e.xid, e.id LIMIT $3`,
      [xid.toString(), id.toString(), limit, userId ?? null],
    );
    return rows.map((row) => eventRow.parse(row));
  }

  /** Writes an event for what a node reported last, unless it says what is noted already or is older. `text`: the event in JSON. */
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

  /** Deletes what is older than minutes and remembers up to where. Every replica may do it. */
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
