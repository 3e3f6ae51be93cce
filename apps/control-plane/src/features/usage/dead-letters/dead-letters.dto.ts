import { z } from 'zod';
import { idField, timeField } from '../../../platform/http/answer-fields.ts';
import { listQuery } from '../../../platform/http/list-query.ts';
import { noteText } from '../../../platform/http/text-field.ts';
import { RESOLUTIONS } from './dead-letter.entity.ts';

const note = noteText(500).describe('The reason, for later readers');

export const deadLetterListSchema = listQuery({
  sorts: ['id', 'created_at'],
  sort: '-id',
  filters: {
    status: z.enum(['open', 'resolved', 'all']).default('open'),
    rid: z.string().max(200).optional(),
    request_id: z.string().max(200).optional().describe('The same as `rid`'),
  },
});
export type DeadLetterList = z.infer<typeof deadLetterListSchema>;

export const bookDeadLetterSchema = z
  .strictObject({
    fields: z
      .record(z.string().max(64), z.unknown())
      .default({})
      .describe('Fields of the payload to replace, e.g. {"charge": 120}'),
    although_day_was_dropped: z
      .boolean()
      .default(false)
      .describe(
        'Book it although the retention has dropped the requests of its day, so that no record shows whether it was already charged',
      ),
    note: note.optional(),
  })
  .meta({ 'x-example': { fields: { charge: 120 }, note: 'The price version was wrong' } });
export type BookDeadLetter = z.output<typeof bookDeadLetterSchema>;

export const dismissDeadLetterSchema = z
  .strictObject({ note })
  .meta({ 'x-example': { note: 'A test of a node that was never in use' } });
export type DismissDeadLetter = z.output<typeof dismissDeadLetterSchema>;

export const deadLetterResponseSchema = z
  .object({
    id: idField,
    rid: z.string().describe('Request id, as it arrived'),
    request_id: z.string().describe('The same as `rid`'),
    seq: z.string(),
    delta: z.string().describe('Charged tokens it takes from its subscription, as it arrived'),
    payload: z.string().describe('As it arrived; the first 65,536 characters'),
    reason: z.string().describe('Why it could not be booked'),
    status: z.enum(['open', 'resolved']),
    resolution: z.enum(RESOLUTIONS).nullable().describe('duplicate: it was already booked'),
    resolved_by: idField.nullable().describe('Account that resolved it; null: the system'),
    note: z.string().nullable(),
    created_at: timeField,
    resolved_at: timeField.nullable(),
  })
  .meta({ id: 'DeadLetter' });
export type DeadLetterResponse = z.output<typeof deadLetterResponseSchema>;
