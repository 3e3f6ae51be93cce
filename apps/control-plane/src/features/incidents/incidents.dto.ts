import { z } from 'zod';
import { countField, idField, timeField } from '../../platform/http/answer-fields.ts';
import { cursorPageOf, cursorQuery } from '../../platform/http/cursor.ts';
import { idFilter, momentField } from '../../platform/http/list-query.ts';
import { isRequestId } from '../usage/ingest/read-event.ts';

const requestId = z.string().refine(isRequestId, 'must be a request id').meta({ format: 'uuid' });
const moment = momentField.transform((text) => new Date(text));
const status = z.coerce.number().int().min(100).max(599);
const refusalCode = z.string().min(1).max(64);

/** `from` is inclusive, `to` is exclusive. */
export const refusedRequestsSchema = cursorQuery({
  rid: requestId.optional(),
  user_id: idFilter.optional(),
  key_id: idFilter.optional(),
  code: refusalCode.optional(),
  status: status.optional(),
  from: moment.optional(),
  to: moment.optional(),
});
export type RefusedRequests = z.output<typeof refusedRequestsSchema>;

export const refusalCountsSchema = z.strictObject({
  user_id: idFilter.optional(),
  key_id: idFilter.optional(),
  from: moment.optional().describe('7 days ago unless given'),
  to: moment.optional(),
});
export type RefusalCounts = z.output<typeof refusalCountsSchema>;

export const upstreamErrorsSchema = cursorQuery({
  rid: requestId.optional(),
  user_id: idFilter.optional(),
  upstream_id: idFilter.optional(),
});
export type UpstreamErrors = z.output<typeof upstreamErrorsSchema>;

const asker = {
  user_id: idField.nullable().describe('null where no account has the key'),
  username: z.string().nullable(),
  key_id: idField.nullable(),
  key_name: z.string().nullable(),
};
const refusal = {
  code: z.string().describe('As a chat client reads it: docs/errors.md'),
  status: z.int().describe('What the client saw'),
};

const refusedRequestSchema = z
  .object({
    rid: z.uuid().describe('What the caller got as `x-request-id`'),
    at: timeField,
    ...asker,
    ...refusal,
    model: z.string().nullable().describe('As the request names it; null where it was not read'),
    message: z.string().describe('What the client was answered'),
    node: z.string().nullable().describe('For administrators'),
  })
  .meta({ id: 'RefusedRequest' });
export type RefusedRequestResponse = z.output<typeof refusedRequestSchema>;
export const refusedRequestPage = cursorPageOf(refusedRequestSchema);

export const refusalCountsAnswer = z
  .object({
    total: countField.describe('All refused requests, those of further rows included'),
    data: z.array(
      z.object({
        ...asker,
        ...refusal,
        count: countField,
        last_at: timeField.describe('Begin of the last minute'),
      }),
    ),
  })
  .meta({ id: 'RefusalCounts' });
export type RefusalCountsAnswer = z.output<typeof refusalCountsAnswer>;

const upstreamErrorSchema = z
  .object({
    rid: z.uuid(),
    place: z.int().describe('Of the attempt in `route` of the request, from 0'),
    at: timeField,
    user_id: idField,
    username: z.string().nullable(),
    upstream_id: idField,
    upstream: z.string().nullable(),
    status: z.int().describe('Of the upstream'),
    excerpt: z.string().describe('The first KB of its error, without secrets'),
  })
  .meta({ id: 'UpstreamError' });
export type UpstreamErrorResponse = z.output<typeof upstreamErrorSchema>;
export const upstreamErrorPage = cursorPageOf(upstreamErrorSchema);
