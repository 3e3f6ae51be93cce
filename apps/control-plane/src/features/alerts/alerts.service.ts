import { Inject, Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { DataSource, IsNull, Repository, type EntityManager } from 'typeorm';
import { z } from 'zod';
import { CONFIG, type Config } from '../../config.ts';
import { prepared } from '../../platform/database/prepared.ts';
import { repeatedLook } from '../../platform/database/repeated-looks.ts';
import { readPage, type Page } from '../../platform/http/list-query.ts';
import { nameRecords, type RecordName, type RecordRef } from '../names/record-names.ts';
import {
  ALERT_RULES,
  type AlertRule,
  type AlertSeverity,
  type AlertToRaise,
} from './alert-rules.ts';
import { Alert } from './alert.entity.ts';
import type { AlertList, AlertResponse } from './alerts.dto.ts';

/** The most alerts the dashboard lists; it must stay fast when many alerts are open. */
const OPEN_COUNTED_MAX = 1_000;
const NEWEST = 5;

const HAS_OPEN = prepared('SELECT id FROM alerts WHERE rule = $1 AND resolved_at IS NULL LIMIT 1');
const countRow = z.object({
  rule: z.string(),
  open: z.coerce.number(),
  recent: z.coerce.number(),
});
const openRow = z.object({ subject: z.string(), unseen_ms: z.coerce.number() });

export interface OpenAlert {
  subject: string;
  /** Since its reason was last seen. */
  unseenMs: number;
}

@Injectable()
export class AlertsService {
  private readonly isDelivered: boolean;

  constructor(
    @InjectRepository(Alert) private readonly alerts: Repository<Alert>,
    private readonly dataSource: DataSource,
    @Inject(CONFIG) config: Pick<Config, 'ALERT_WEBHOOK_URL'>,
  ) {
    this.isDelivered = config.ALERT_WEBHOOK_URL !== undefined;
  }

  /**
   * Opens an alert, or refreshes the open one of the same rule and subject: saying it twice is harmless.
   * Outside a transaction pass `dataSource.manager`.
   */
  async raise<Rule extends AlertRule>(
    tx: EntityManager,
    { rule, subject, message, detail }: AlertToRaise<Rule>,
  ): Promise<void> {
    // xmax is 0 for a row this very statement inserted: only a new alert is sent out.
    await tx.query(
      `WITH raised AS (
         INSERT INTO alerts (rule, severity, subject, message, detail) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (rule, subject) WHERE resolved_at IS NULL DO UPDATE SET message = excluded.message, detail = excluded.detail, last_seen_at = now()
         RETURNING id, xmax = 0 AS is_new)
       INSERT INTO alert_deliveries (alert_id, event) SELECT id, 'raised' FROM raised WHERE is_new AND $6`,
      [rule, ALERT_RULES[rule], subject, message, JSON.stringify(detail ?? {}), this.isDelivered],
    );
  }

  /** Closes the open alert of this rule and subject, if there is one. */
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

  /** The open alerts of this rule. */
  async openOf(tx: EntityManager, rule: AlertRule): Promise<OpenAlert[]> {
    const rows: unknown[] = await tx.query(
      `SELECT subject, extract(epoch FROM now() - last_seen_at) * 1000 AS unseen_ms FROM alerts WHERE rule = $1 AND resolved_at IS NULL ORDER BY subject`,
      [rule],
    );
    return rows
      .map((row) => openRow.parse(row))
      .map(({ subject, unseen_ms: unseenMs }) => ({ subject, unseenMs }));
  }

  /** Asked every few seconds by each replica: see `repeatedLook`. */
  async hasOpen(rule: AlertRule): Promise<boolean> {
    const rows = await repeatedLook(this.dataSource, HAS_OPEN, [rule]);
    return rows.length > 0;
  }

  /** Returns the alerts of each rule that has any: open ones, and those that are open or closed within the last 15 minutes. */
  async countByRule(): Promise<z.output<typeof countRow>[]> {
    const rows: unknown[] = await this.dataSource.query(
      `SELECT rule, count(*) FILTER (WHERE resolved_at IS NULL) AS open, count(*) AS recent FROM alerts
       WHERE resolved_at IS NULL OR resolved_at > now() - interval '15 minutes' GROUP BY rule`,
    );
    return rows.map((row) => countRow.parse(row));
  }

  /** How many are open by severity, and the newest of them. */
  async open(): Promise<{
    open: number;
    critical: number;
    warning: number;
    info: number;
    newest: AlertResponse[];
  }> {
    const rows = await this.alerts.find({
      where: { resolvedAt: IsNull() },
      order: { id: 'DESC' },
      take: OPEN_COUNTED_MAX,
    });
    const count = (severity: AlertSeverity): number =>
      rows.filter((row) => row.severity === severity).length;
    return {
      open: rows.length,
      critical: count('critical'),
      warning: count('warning'),
      info: count('info'),
      newest: await this.named(rows.slice(0, NEWEST)),
    };
  }

  /** Undefined for an alert that is not there. */
  async find(id: number): Promise<AlertResponse | undefined> {
    const row = await this.alerts.findOneBy({ id });
    return row ? (await this.named([row]))[0] : undefined;
  }

  async list(query: AlertList): Promise<Page<AlertResponse>> {
    const builder = this.alerts.createQueryBuilder('alert');
    if (query.status !== 'all')
      builder.andWhere(
        query.status === 'open' ? 'alert.resolvedAt IS NULL' : 'alert.resolvedAt IS NOT NULL',
      );
    if (query.rule !== undefined) builder.andWhere('alert.rule = :rule', { rule: query.rule });
    if (query.severity !== undefined)
      builder.andWhere('alert.severity = :severity', { severity: query.severity });
    if (query.subject !== undefined)
      builder.andWhere('alert.subject = :subject', { subject: query.subject });
    const { data, ...page } = await readPage(builder, query, {
      columns: { id: 'alert.id', raised_at: 'alert.raisedAt', last_seen_at: 'alert.lastSeenAt' },
      search: ['alert.message', 'alert.subject'],
      map: (row) => row,
    });
    return { data: await this.named(data), ...page };
  }

  private async named(rows: readonly Alert[]): Promise<AlertResponse[]> {
    const subjects = rows.map(({ subject }) => subjectOf(subject));
    const nameOf = await nameRecords(this.dataSource, subjects);
    return rows.map((row) => toAlertResponse(row, nameOf(subjectOf(row.subject))));
  }
}

function subjectOf(subject: string): RecordRef {
  const [kind = '', id = null] = subject.split(':');
  return { kind, id };
}

function toAlertResponse(row: Alert, { name, userId, isGone }: RecordName): AlertResponse {
  return {
    id: row.id,
    rule: row.rule,
    severity: row.severity,
    subject: row.subject,
    subject_name: name,
    subject_user_id: userId,
    subject_is_gone: isGone,
    message: row.message,
    detail: row.detail,
    status: row.resolvedAt === null ? 'open' : 'resolved',
    raised_at: row.raisedAt.toISOString(),
    last_seen_at: row.lastSeenAt.toISOString(),
    resolved_at: row.resolvedAt?.toISOString() ?? null,
  };
}
