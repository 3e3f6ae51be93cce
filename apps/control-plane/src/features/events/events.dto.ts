import { NODE_STATES } from '@tollgate/contracts';
import { z } from 'zod';
import {
  amountText,
  countField,
  currencyField,
  idField,
  timeField,
  tokensField,
} from '../../platform/http/answer-fields.ts';
import { idFilter } from '../../platform/http/list-query.ts';
import { alertResponseSchema } from '../alerts/alerts.dto.ts';
import { usageLogResponseSchema } from '../usage/api/usage-answers.ts';

/** Administrators name one account with `user_id`; without it they see all accounts. */
export const eventsQuery = z.strictObject({ user_id: idFilter.optional() });
export type EventsQuery = z.output<typeof eventsQuery>;

const nodeEvent = z.object({
  id: idField,
  name: z.string(),
  state: z.enum(NODE_STATES),
  workers: z.array(
    z.object({
      worker: z.int(),
      instance: z.uuid(),
      state: z.enum(NODE_STATES),
      version: countField.describe('Of the snapshot it runs'),
      applied_at: timeField.nullable(),
      refused: z.string().nullable(),
    }),
  ),
});
export type NodeEvent = z.output<typeof nodeEvent>;

/** `event` is the field of that name in the stream, `data` is its JSON data. */
export const streamEventSchema = z
  .discriminatedUnion('event', [
    z.object({
      event: z.literal('ready').describe('The stream stands; what follows is new'),
      data: z.object({ at: timeField }),
    }),
    z.object({
      event: z
        .literal('reset')
        .describe('Events were missed and cannot be sent again: reload the displayed data'),
      data: z.object({ at: timeField }),
    }),
    z.object({
      event: z.literal('alert').describe('Raised or resolved'),
      data: alertResponseSchema,
    }),
    z.object({
      event: z
        .literal('node')
        .describe('The state of a node or of a worker, or the version it runs, has changed'),
      data: nodeEvent,
    }),
    z.object({
      event: z.literal('requests').describe('Requests were booked'),
      data: z.object({
        user_id: idField,
        count: countField.describe('How many; `newest` shows at most 20 of them'),
        newest: z.array(usageLogResponseSchema),
      }),
    }),
    z.object({
      event: z.literal('balance').describe('Tokens of a subscription, as booked'),
      data: z.object({
        user_id: idField,
        subscription_id: idField,
        model_id: idField,
        status: z.enum(['active', 'closing', 'closed']),
        tokens: tokensField,
      }),
    }),
    z.object({
      event: z.literal('wallet').describe('Money of an account'),
      data: z.object({ user_id: idField, balance: amountText, currency: currencyField }),
    }),
    z.object({
      event: z.literal('end').describe('The session or the access token no longer stands'),
      data: z.object({ at: timeField }),
    }),
  ])
  .meta({ id: 'StreamEvent' });
export type StreamEvent = z.output<typeof streamEventSchema>;
