import { z } from 'zod';
import {
  amountText,
  countField,
  currencyField,
  idField,
  timeField,
  tokensField,
} from '../../platform/http/answer-fields.ts';
import { alertResponseSchema } from '../alerts/alerts.dto.ts';

const counts = { requests: countField, errors: countField, charge: tokensField };

export const dashboardSchema = z
  .object({
    generated_at: timeField,
    users: z.object({
      total: countField,
      pending: countField,
      active: countField,
      rejected: countField,
      frozen: countField,
    }),
    nodes: z.object({
      total: countField,
      online: countField,
      draining: countField,
      stopped: countField,
      disabled: countField,
      offline: countField,
    }),
    today: z
      .object({
        ...counts,
        input_tokens: countField,
        output_tokens: countField,
        duration_p95_ms: countField.nullable().describe('null = no request yet'),
        first_token_p95_ms: countField.nullable().describe('null = no stream yet'),
      })
      .describe('Since midnight'),
    hours: z.array(z.object({ hour: timeField, ...counts })).describe('The last 24'),
    top_models: z.array(z.object({ model_id: idField, name: z.string(), ...counts })),
    money: z
      .object({
        currency: currencyField,
        wallets: amountText,
        payments: amountText,
        revenue: amountText,
        grants: amountText,
        overdraft: amountText,
      })
      .describe('What the house accounts stand at; their sum is zero'),
    subscriptions: z.object({
      active: countField,
      tokens: tokensField.describe('At most 2^53 - 1: what JSON can tell exactly'),
    }),
    snapshot: z.object({ version: idField.nullable(), pinned_version: idField.nullable() }),
    booking_lag_ms: countField
      .nullable()
      .describe(
        'From the end of an answer to its booking: the median of the last 100 requests; null = none yet',
      ),
    alerts: z.object({
      open: countField,
      critical: countField,
      warning: countField,
      info: countField,
      newest: z.array(alertResponseSchema),
    }),
  })
  .meta({ id: 'Dashboard' });
export type Dashboard = z.output<typeof dashboardSchema>;
