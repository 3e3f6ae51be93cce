import { z } from 'zod';
import { idField, timeField } from '../../platform/http/answer-fields.ts';
import { listQuery } from '../../platform/http/list-query.ts';
import { ROWS } from '../../platform/openapi/named-tables.ts';
import { ALERT_RULES, ALERT_SEVERITIES, type AlertRule } from './alert-rules.ts';

export const alertListSchema = listQuery({
  sorts: ['id', 'raised_at', 'last_seen_at'],
  sort: '-id',
  filters: {
    status: z.enum(['open', 'resolved', 'all']).default('open'),
    rule: z.string().max(64).optional(),
    severity: z.enum(['info', 'warning', 'critical']).optional(),
    subject: z.string().max(200).optional(),
  },
});
export type AlertList = z.infer<typeof alertListSchema>;

export const alertResponseSchema = z
  .object({
    id: idField,
    rule: z.enum(Object.keys(ALERT_RULES) as [AlertRule, ...AlertRule[]]).meta({
      id: 'AlertRule',
      [ROWS]: Object.entries(ALERT_RULES).map(([name, severity]) => ({ name, severity })),
    }),
    severity: z.enum(ALERT_SEVERITIES),
    subject: z.string().describe('`<kind>:<id>`; one open alert per rule and subject'),
    subject_name: z
      .string()
      .nullable()
      .describe(
        'Name of the subject, for a subscription of its account and model; null without one',
      ),
    subject_user_id: idField.nullable().describe('The account that the subject belongs to'),
    subject_is_gone: z.boolean().describe('It, or its account, is deleted'),
    message: z.string().describe('In English'),
    detail: z
      .record(z.string(), z.unknown())
      .describe('The figures and names of the message; `kind` where a rule has several sentences'),
    status: z.enum(['open', 'resolved']),
    raised_at: timeField,
    last_seen_at: timeField,
    resolved_at: timeField.nullable(),
  })
  .meta({ id: 'Alert' });
export type AlertResponse = z.output<typeof alertResponseSchema>;
