import { Inject, Injectable } from '@nestjs/common';
import { USAGE_ROWS, type NodeState } from '@tollgate/contracts';
import { formatAmount } from '@tollgate/money';
import { DataSource } from 'typeorm';
import { z } from 'zod';
import { CONFIG, type Config } from '../../config.ts';
import { toSafeInteger } from '../../platform/database/columns.ts';
import { AlertsService } from '../alerts/alerts.service.ts';
import { ProxyNodesService } from '../proxy-nodes/proxy-nodes.service.ts';
import { SnapshotRepository } from '../snapshots/snapshot-repository.ts';
import { parseHistogram, percentiles, sumHistograms } from '../usage/histogram.ts';
import type { Dashboard } from './dashboard-answer.ts';

const HOURS = 24;
const NEWEST = 100;
const P95 = [0.95];
const NO_TRAFFIC = { requests: 0, errors: 0, charge: 0, input_tokens: 0, output_tokens: 0 };
const TOP_MODELS = 10;

const integer = z.union([z.string(), z.number()]).transform(toSafeInteger);
const userRow = z.object({
  status: z.enum(['pending', 'active', 'rejected', 'frozen']),
  count: integer,
});
const trafficRow = z.object({
  requests: integer,
  errors: integer,
  charge: integer,
  input_tokens: integer,
  output_tokens: integer,
});
const hourRow = z.object({ hour: z.date(), requests: integer, errors: integer, charge: integer });
const modelRow = z.object({
  model_id: z.number(),
  name: z.string(),
  requests: integer,
  errors: integer,
  charge: integer,
});
const moneyRow = z.object({
  kind: z.enum(['wallet', 'payments', 'revenue', 'grants', 'overdraft']),
  balance: z.string().transform(BigInt),
});
const latencyRow = z.object({
  duration: z.string().transform(parseHistogram),
  first_token: z.string().transform(parseHistogram),
});
const lagRow = z.object({ lag_ms: z.number().nullable() });
const tokensRow = z.object({ count: integer, tokens: integer });

const SUM =
  'coalesce(sum(requests), 0)::bigint AS requests, coalesce(sum(errors), 0)::bigint AS errors, coalesce(sum(charge), 0)::bigint AS charge';
/** All charged classes of what upstreams read or generated. */
function sumOfSide(side: 'prompt' | 'output'): string {
  const fields = USAGE_ROWS.filter((row) => row.isCharged && row.side === side);
  return `coalesce(sum(${fields.map(({ field }) => field).join(' + ')}), 0)::bigint`;
}
/** Totals are kept in the transaction of each debit, so these few rows stand for all requests. */
const TODAY = `SELECT ${SUM}, ${sumOfSide('prompt')} AS input_tokens, ${sumOfSide('output')} AS output_tokens
  FROM usage_totals WHERE hour >= date_trunc('day', now())`;
const BY_HOUR = `SELECT slot AS hour, ${SUM} FROM generate_series(date_trunc('hour', now()) - interval '${HOURS - 1} hours', date_trunc('hour', now()), '1 hour') slot
  LEFT JOIN (SELECT * FROM usage_totals WHERE hour > date_trunc('hour', now()) - interval '${HOURS} hours') recent ON recent.hour = slot GROUP BY slot ORDER BY slot`;
const BY_MODEL = `SELECT model_id, models.name, ${SUM} FROM usage_totals JOIN models ON models.id = model_id
  WHERE hour > date_trunc('hour', now()) - interval '${HOURS} hours' GROUP BY model_id, models.name ORDER BY sum(charge) DESC, sum(requests) DESC, model_id LIMIT ${TOP_MODELS}`;

const TODAY_LATENCY = `SELECT array_to_string(duration_histogram, ',') AS duration, array_to_string(first_token_histogram, ',') AS first_token
  FROM usage_totals WHERE hour >= date_trunc('day', now()) AND requests > 0`;
/** A request id begins with the time of its request, so the newest are the last of the primary key. */
const BOOKING_LAG = `SELECT round(1000 * percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM created_at - started_at) - duration_ms / 1000.0))::int AS lag_ms
  FROM (SELECT created_at, started_at, duration_ms FROM usage_events WHERE day >= (now() AT TIME ZONE 'UTC')::date - 1 AND kind = 'usage' AND duration_ms IS NOT NULL
    ORDER BY day DESC, rid DESC LIMIT ${NEWEST}) newest`;
const ACTIVE_TOKENS = `SELECT count(*)::bigint AS count, least(coalesce(sum(balance), 0), ${Number.MAX_SAFE_INTEGER})::bigint AS tokens
  FROM subscriptions WHERE status = 'active'`;

/** Everything the first page of the console shows, in one answer. */
@Injectable()
export class DashboardService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly nodes: ProxyNodesService,
    private readonly snapshots: SnapshotRepository,
    private readonly alerts: AlertsService,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  async read(): Promise<Dashboard> {
    const [users, nodes, traffic, money, subscriptions, snapshot, alerts] = await Promise.all([
      this.users(),
      this.nodesByState(),
      this.traffic(),
      this.money(),
      this.rows(ACTIVE_TOKENS, tokensRow),
      this.snapshot(),
      this.alerts.open(),
    ]);
    return {
      generated_at: new Date().toISOString(),
      users,
      nodes,
      ...traffic,
      money,
      subscriptions: {
        active: subscriptions[0]?.count ?? 0,
        tokens: subscriptions[0]?.tokens ?? 0,
      },
      snapshot,
      alerts,
    };
  }

  private async traffic() {
    const [today, latency, lag, hours, topModels] = await Promise.all([
      this.rows(TODAY, trafficRow),
      this.latencyToday(),
      this.rows(BOOKING_LAG, lagRow),
      this.rows(BY_HOUR, hourRow),
      this.rows(BY_MODEL, modelRow),
    ]);
    return {
      today: { ...(today[0] ?? NO_TRAFFIC), ...latency },
      // A clock of a node that runs ahead of the database's shows as nothing, not as less.
      booking_lag_ms: lag[0]?.lag_ms == null ? null : Math.max(0, lag[0].lag_ms),
      hours: hours.map(({ hour, ...counts }) => ({ hour: hour.toISOString(), ...counts })),
      top_models: topModels,
    };
  }

  private async snapshot() {
    const [latest, settings] = await Promise.all([
      this.snapshots.latest(this.dataSource.manager),
      this.snapshots.settings(this.dataSource.manager, { isLocked: false }),
    ]);
    return { version: latest?.version ?? null, pinned_version: settings.pinnedVersion };
  }

  private async latencyToday() {
    const rows = await this.rows(TODAY_LATENCY, latencyRow);
    const p95 = (name: 'duration' | 'first_token'): number | null =>
      percentiles(sumHistograms(rows.map((row) => row[name])), P95)[0] ?? null;
    return { duration_p95_ms: p95('duration'), first_token_p95_ms: p95('first_token') };
  }

  private async users() {
    const rows = await this.rows(
      'SELECT status, count(*)::bigint AS count FROM users WHERE deleted_at IS NULL GROUP BY status',
      userRow,
    );
    const counts = {
      pending: 0,
      active: 0,
      rejected: 0,
      frozen: 0,
      ...Object.fromEntries(rows.map((row) => [row.status, row.count])),
    };
    return { total: rows.reduce((sum, row) => sum + row.count, 0), ...counts };
  }

  private async nodesByState() {
    const states = await this.nodes.states();
    const count = (state: NodeState): number => states.filter((each) => each === state).length;
    return {
      total: states.length,
      online: count('online'),
      draining: count('draining'),
      stopped: count('stopped'),
      disabled: count('disabled'),
      offline: count('offline'),
    };
  }

  /** All wallets together, and what the house accounts stand at; their sum is zero. */
  private async money() {
    const rows = await this.rows(
      'SELECT kind, sum(balance)::text AS balance FROM ledger_accounts GROUP BY kind',
      moneyRow,
    );
    const balanceOf = (kind: z.output<typeof moneyRow>['kind']): string =>
      formatAmount(rows.find((row) => row.kind === kind)?.balance ?? 0n);
    return {
      currency: this.config.CURRENCY,
      wallets: balanceOf('wallet'),
      payments: balanceOf('payments'),
      revenue: balanceOf('revenue'),
      grants: balanceOf('grants'),
      overdraft: balanceOf('overdraft'),
    };
  }

  private async rows<T extends z.ZodType>(sql: string, schema: T): Promise<z.output<T>[]> {
    const rows: unknown[] = await this.dataSource.query(sql);
    return rows.map((row) => schema.parse(row));
  }
}
