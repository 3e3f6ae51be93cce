import { randomUUID } from 'node:crypto';
import {
  hashCredential,
  proveReport,
  type FleetMessage,
  type NodeReport,
} from '@tollgate/contracts';
import { FleetStore, FunctionLibrary, openRedis, type RedisConnection } from '@tollgate/keyspace';

const REPORT_MS = 200;

export interface SpeakingNodeOptions {
  redisUrl: string;
  name: string;
  worker?: number;
  credential: string;
  /** Is false for a node that reports, but never takes up a snapshot. */
  follows?: boolean;
  /** Is the node's complaint about every snapshot. */
  refuses?: string;
  /** Holds facts that its report states; those of a node that was just started for the rest. */
  reports?: Partial<NodeReport>;
  /** Holds the in-memory tables with which the node answers `dump`. */
  tables?: Record<string, { key: string; value: unknown }[]>;
}

/** Plays the node's half of the fleet protocol over a real Redis, without a gateway behind it, so that it can misbehave at will. */
export class SpeakingNode {
  readonly store: FleetStore;
  private readonly connections: RedisConnection[];
  private readonly instance = randomUUID();
  private readonly startedAt = Date.now();
  private applied = { version: 0, checksum: '', at: 0 };
  private timer: NodeJS.Timeout | undefined;
  private lastReportedAt = 0;

  constructor(private readonly options: SpeakingNodeOptions) {
    const open = (role: 'blocking' | 'subscriber'): RedisConnection =>
      openRedis(options.redisUrl, {
        role,
        name: `speaking-node-${options.name}`,
        onError: () => undefined,
      });
    const [redis, subscriber] = [open('blocking'), open('subscriber')];
    this.connections = [redis, subscriber];
    this.store = new FleetStore({ redis, library: new FunctionLibrary(redis) });
    void this.store.subscribe(
      subscriber,
      (message) => void this.hear(message).catch(() => undefined),
    );
  }

  /** Sets the version that it reports to run from now on, as a node does that starts from its disk. */
  runs({ version, checksum }: { version: number; checksum: string }): void {
    this.applied = { version, checksum, at: Date.now() };
  }

  async start(): Promise<this> {
    await this.report();
    this.timer = setInterval(() => void this.report().catch(() => undefined), REPORT_MS);
    return this;
  }

  /** Falls silent at once, as after kill -9: its last report stays behind. */
  stop(): void {
    clearInterval(this.timer);
    for (const connection of this.connections.splice(0)) connection.disconnect();
  }

  async report(): Promise<void> {
    // The time is never twice the same: a new report is a newer one.
    this.lastReportedAt = Math.max(Date.now(), this.lastReportedAt + 1);
    const identity = {
      name: this.options.name,
      worker: this.options.worker ?? 0,
      instance: this.instance,
      reported_at: this.lastReportedAt,
    };
    const report: Omit<NodeReport, 'proof'> = {
      ...identity,
      url: null,
      state: 'online',
      version: this.applied.version,
      checksum: this.applied.checksum,
      applied_at: this.applied.at,
      refused: this.options.refuses ?? null,
      started_at: this.startedAt,
      in_flight: 0,
      unacknowledged: 0,
      software: 'test',
      lineage: 0,
      abilities: [],
      upstreams: [],
      journals_set_aside: 0,
      doubted: [],
      redis: null,
      ...this.options.reports,
    };
    await this.store.writeReport({
      ...report,
      proof: proveReport(report, hashCredential(this.options.credential)),
    });
  }

  private async hear(message: FleetMessage): Promise<void> {
    if (message.kind === 'dump') return this.answer(message);
    if (
      message.kind !== 'snapshot' ||
      this.options.follows === false ||
      this.options.refuses !== undefined
    )
      return;
    const verdict = await this.store.fetchSnapshot(message.version);
    if (verdict?.kind === 'ok')
      this.applied = {
        version: verdict.snapshot.version,
        checksum: verdict.snapshot.checksum,
        at: Date.now(),
      };
    await this.report();
  }

  private async answer({
    request_id,
    table,
    page,
    page_size,
    node,
  }: Extract<FleetMessage, { kind: 'dump' }>): Promise<void> {
    if (node !== null && node !== this.options.name) return;
    const tables = this.options.tables ?? {};
    const rows = (table === null ? undefined : tables[table]) ?? [];
    await this.store.writeDump({
      request_id,
      name: this.options.name,
      worker: this.options.worker ?? 0,
      table,
      page,
      page_size,
      total: rows.length,
      rows: rows.slice((page - 1) * page_size, page * page_size),
      tables: Object.entries(tables).map(([name, entries]) => ({
        table: name,
        entries: entries.length,
        limit: null,
      })),
    });
  }
}
