import { Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { z } from 'zod';
import { BackgroundLoop } from '../../platform/background/background-loop.ts';
import { Transactions } from '../../platform/database/transactions.ts';
import { AlertsService } from '../alerts/alerts.service.ts';
import { NodeDumps } from './node-dumps.ts';
import { ProxyNodesService } from './proxy-nodes.service.ts';

const LOOK_MS = 15_000;
const RETRY_MS = 5_000;
/** One replica asks the fleet at a time. */
const WATCH_LOCK = 7_001_005;
const TABLE = 'upstream_health';
const PAGE_SIZE = 1_000;
/** What opens a node's circuit breaker. */
const FAILURES_IN_ROW = 5;
/** An upstream nobody has tried for so long, as a fallback that is not needed, is no longer known to fail. */
const UNTRIED = '5 minutes';

const healthRow = z.looseObject({ upstream_id: z.number().int().positive(), failures_in_row: z.number(), open_for_ms: z.number() });
const nameRow = z.object({ id: z.number(), name: z.string() });
const subjectRow = z.object({ subject: z.string() });

/** Raises `upstream_failing` while any worker has given an upstream up, also when other routes hide it from callers. */
@Injectable()
export class UpstreamWatch implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger('upstream-watch');
  /** Failures in a row at the last look, by worker and upstream. */
  private readonly failures = new Map<string, number>();
  private readonly loop = new BackgroundLoop({ everyMs: LOOK_MS, retryMs: RETRY_MS, work: () => this.look(), onFailing: (error) => this.logger.warn(error, 'upstreams cannot be watched; trying again') });

  constructor(
    private readonly transactions: Transactions,
    private readonly nodes: ProxyNodesService,
    private readonly dumps: NodeDumps,
    private readonly alerts: AlertsService,
  ) {}

  onApplicationBootstrap(): void {
    this.loop.start();
  }

  onApplicationShutdown(): Promise<void> {
    return this.loop.stop();
  }

  async look(): Promise<void> {
    await this.transactions.run(async (tx) => {
      const [lock]: { got: boolean }[] = await tx.query('SELECT pg_try_advisory_xact_lock($1) AS got', [WATCH_LOCK]);
      if (!lock?.got) return;
      const givenUp = await this.givenUp();
      const rows: unknown[] = await tx.query('SELECT id, name FROM upstreams WHERE id = ANY($1) AND deleted_at IS NULL', [givenUp.map((each) => each.upstreamId)]);
      for (const { id, name } of rows.map((row) => nameRow.parse(row))) {
        const workers = givenUp.filter((each) => each.upstreamId === id && each.isNews).map((each) => each.by);
        // Nothing tried since the last look: the alert stands, but is not fresh.
        if (workers.length > 0) await this.alerts.raise(tx, { rule: 'upstream_failing', subject: subjectOf(id), message: `Upstream ${name} keeps failing; nodes send it nothing but probes`, detail: { workers } });
      }
      const over: unknown[] = await tx.query(
        `SELECT subject FROM alerts WHERE rule = 'upstream_failing' AND resolved_at IS NULL AND (NOT subject = ANY($1) OR last_seen_at < now() - interval '${UNTRIED}')`,
        [givenUp.map((each) => subjectOf(each.upstreamId))],
      );
      for (const { subject } of over.map((row) => subjectRow.parse(row))) await this.alerts.resolve(tx, { rule: 'upstream_failing', subject });
    });
  }

  /** Which workers have given which upstream up, and whether it has failed them again since the last look. */
  private async givenUp(): Promise<{ upstreamId: number; by: string; isNews: boolean }[]> {
    const answers = await this.dumps.ask(await this.nodes.scope(), { table: TABLE, page: 1, page_size: PAGE_SIZE });
    return answers.flatMap(({ name, worker, dump }) =>
      (dump?.rows ?? []).flatMap(({ value }) => {
        const health = healthRow.safeParse(value).data;
        if (!health) return [];
        const by = `${name}:${worker}`;
        const key = `${by} ${health.upstream_id}`;
        const isNews = health.open_for_ms > 0 || health.failures_in_row > (this.failures.get(key) ?? 0);
        this.failures.set(key, health.failures_in_row);
        return health.failures_in_row >= FAILURES_IN_ROW ? [{ upstreamId: health.upstream_id, by, isNews }] : [];
      }),
    );
  }
}

function subjectOf(upstreamId: number): string {
  return `upstream:${upstreamId}`;
}
