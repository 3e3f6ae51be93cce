import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { IsNull, type Repository } from 'typeorm';
import { readPage, type Page } from '../../platform/http/list-query.ts';
import { nameRecords, type RecordName, type RecordRef } from '../names/record-names.sql.ts';
import type { AlertSeverity } from './alert-rules.ts';
import { Alert } from './alert.entity.ts';
import type { AlertList, AlertResponse } from './alerts.dto.ts';

/** The dashboard counts at most this many open alerts, so that it stays fast. */
const OPEN_COUNTED_MAX = 1_000;
const NEWEST = 5;

/** Lists alerts for administrators. */
@Injectable()
export class ListedAlertsService {
  constructor(@InjectRepository(Alert) private readonly alerts: Repository<Alert>) {}

  /** Returns the number of open alerts by severity, and the newest open ones. */
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

  /** Returns undefined when there is no such alert. */
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
    const nameOf = await nameRecords(this.alerts.manager, subjects);
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
