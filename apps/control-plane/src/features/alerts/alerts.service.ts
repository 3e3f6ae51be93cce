import { Inject, Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { z } from 'zod';
import { CONFIG, type Config } from '../../config.ts';
import { prepared } from '../../platform/database/prepared.ts';
import { repeatedLook } from '../../platform/database/repeated-looks.ts';
import { ALERT_RULES, type AlertRule, type AlertToRaise } from './alert-rules.ts';

const HAS_OPEN = prepared('SELECT id FROM alerts WHERE rule = $1 AND resolved_at IS NULL LIMIT 1');
const countRow = z.object({
  rule: z.string(),
  open: z.coerce.number(),
  recent: z.coerce.number(),
});
const openRow = z.object({ subject: z.string(), unseen_ms: z.coerce.number() });

export interface OpenAlert {
  subject: string;
  /** Is the time in ms since the condition was last seen. */
  unseenMs: number;
}

/** Raises, resolves and counts alerts; `ListedAlertsService` lists them. */
@Injectable()
export class AlertsService {
  private readonly isDelivered: boolean;

  constructor(
    private readonly dataSource: DataSource,
    @Inject(CONFIG) config: Pick<Config, 'ALERT_WEBHOOK_URL'>,
  ) {
    this.isDelivered = config.ALERT_WEBHOOK_URL !== undefined;
  }

  /** Raises an alert, or refreshes the open one of the same rule and subject, so that repeated calls are harmless. Outside a transaction the caller passes `dataSource.manager`. */
  async raise<Rule extends AlertRule>(
    tx: EntityManager,
    { rule, subject, message, detail }: AlertToRaise<Rule>,
  ): Promise<void> {
    // xmax is 0 for a row that this statement inserted: only a new alert is sent out.
    await tx.query(
      `WITH raised AS (
         INSERT INTO alerts (rule, severity, subject, message, detail) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (rule, subject) WHERE resolved_at IS NULL DO UPDATE SET message = excluded.message, detail = excluded.detail, last_seen_at = now()
         RETURNING id, xmax = 0 AS is_new)
       INSERT INTO alert_deliveries (alert_id, event) SELECT id, 'raised' FROM raised WHERE is_new AND $6`,
      [rule, ALERT_RULES[rule], subject, message, JSON.stringify(detail ?? {}), this.isDelivered],
    );
  }

  /** Resolves the open alert of this rule and subject, if there is one. */
  async resolve(
    tx: EntityManager,
    { rule, subject }: { rule: AlertRule; subject: string },
  ): Promise<void> {
    await tx.query(
      `WITH closed AS (UPDATE alerts SET resolved_at = now() WHERE rule = $1 AND subject = $2 AND resolved_at IS NULL RETURNING id)
       INSERT INTO alert_deliveries (alert_id, event) SELECT id, 'resolved' FROM closed WHERE $3`,
      [rule, subject, this.isDelivered],
    );
  }

  /** Returns the open alerts of this rule. */
  async openOf(tx: EntityManager, rule: AlertRule): Promise<OpenAlert[]> {
    const rows: unknown[] = await tx.query(
      `SELECT subject, extract(epoch FROM now() - last_seen_at) * 1000 AS unseen_ms FROM alerts WHERE rule = $1 AND resolved_at IS NULL ORDER BY subject`,
      [rule],
    );
    return rows
      .map((row) => openRow.parse(row))
      .map(({ subject, unseen_ms: unseenMs }) => ({ subject, unseenMs }));
  }

  /** Returns whether an alert of this rule is open. Each replica asks every few seconds, see `repeatedLook`. */
  async hasOpen(rule: AlertRule): Promise<boolean> {
    const rows = await repeatedLook(this.dataSource, HAS_OPEN, [rule]);
    return rows.length > 0;
  }

  /** Counts alerts by rule: those that are open, and those that were open within the last 15 minutes. */
  async countByRule(): Promise<z.output<typeof countRow>[]> {
    const rows: unknown[] = await this.dataSource.query(
      `SELECT rule, count(*) FILTER (WHERE resolved_at IS NULL) AS open, count(*) AS recent FROM alerts
       WHERE resolved_at IS NULL OR resolved_at > now() - interval '15 minutes' GROUP BY rule`,
    );
    return rows.map((row) => countRow.parse(row));
  }
}
