import type { EntityManager } from 'typeorm';
import { z } from 'zod';
import type { AlertDetail, AlertRule } from './alert-rules.ts';
import type { AlertsService } from './alerts.service.ts';

/** One check raises at most this many new alerts; the next check raises the rest. */
const RAISED_MAX = 500;

const subjectRow = z.object({ subject: z.string() });

/**
 * Raises a rule for each `subject` that a statement finds and resolves it for all others. The state decides and not events, so replicas that check at
 * the same time raise one alert. `say` turns a found row into the message.
 */
export async function keepStateAlerts(
  tx: EntityManager,
  alerts: AlertsService,
  {
    rule,
    found,
    say,
  }: {
    rule: AlertRule;
    found: string;
    say: (row: unknown) => {
      subject: string;
      message: string;
      detail: AlertDetail;
    };
  },
): Promise<void> {
  const open = (await alerts.openOf(tx, rule)).map(({ subject }) => subject);
  const over: unknown[] = await tx.query(
    `SELECT subject FROM unnest($1::text[]) AS open(subject) WHERE subject NOT IN (SELECT subject FROM (${found}) found)`,
    [open],
  );
  for (const { subject } of over.map((row) => subjectRow.parse(row)))
    await alerts.resolve(tx, { rule, subject });
  const begun: unknown[] = await tx.query(
    `SELECT * FROM (${found}) found WHERE NOT subject = ANY($1) LIMIT ${RAISED_MAX}`,
    [open],
  );
  for (const row of begun) await alerts.raise(tx, { rule, ...say(row) });
}
