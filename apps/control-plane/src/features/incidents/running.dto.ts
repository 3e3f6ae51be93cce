import { z } from 'zod';
import { countField, idField, timeField } from '../../platform/http/answer-fields.ts';
import { idFilter } from '../../platform/http/list-query.ts';
import { noteText } from '../../platform/http/text-field.ts';

const REASON_CHARS_MAX = 200;

export const runningRequestsSchema = z.strictObject({ user_id: idFilter.optional() });
export type RunningRequests = z.output<typeof runningRequestsSchema>;

export const endRequestSchema = z
  .strictObject({ reason: noteText(REASON_CHARS_MAX).describe('Is in the activity log') })
  .meta({ 'x-example': { reason: 'It repeats itself' } });
export type EndRequest = z.output<typeof endRequestSchema>;

const runningRequest = z
  .object({
    rid: z.uuid(),
    user_id: idField,
    username: z.string().nullable(),
    key_id: idField,
    key_name: z.string().nullable(),
    model_id: idField,
    model: z.string().nullable(),
    protocol: z.string(),
    is_stream: z.boolean(),
    upstream_id: idField.nullable().describe('For administrators'),
    upstream: z.string().nullable().describe('For administrators'),
    node: z.string().nullable().describe('For administrators'),
    started_at: timeField,
    tokens: countField.describe('Output tokens so far, by the count of the gateway'),
    is_ending: z
      .boolean()
      .describe('Its client has left, or it was ended: what it used is read to its end'),
  })
  .meta({ id: 'RunningRequest' });
export type RunningRequestResponse = z.output<typeof runningRequest>;

export const runningRequestsAnswer = z
  .object({
    at: timeField,
    total: countField.describe('Requests that run, those of further rows included'),
    data: z.array(runningRequest).describe('The longest first, 500 at most'),
    silent_workers: countField.describe('Workers that did not answer in time'),
  })
  .meta({ id: 'RunningRequests' });
export type RunningRequestsAnswer = z.output<typeof runningRequestsAnswer>;
export const endedRequestAnswer = z.object({ rid: z.uuid() }).meta({ id: 'EndedRequest' });
