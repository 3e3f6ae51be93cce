import { z } from 'zod';
import { countField, timeField } from '../../platform/http/answer-fields.ts';

export const booksSchema = z
  .object({
    running_since: timeField.nullable().describe('An audit runs now; read again in a moment'),
    checks: z.array(
      z.object({
        name: z.string(),
        says: z.string().describe('What must hold'),
        is_sound: z.boolean().nullable().describe('null: never compared'),
        problems: countField.describe('Rows that break it; at most 100 are counted'),
        example: z.record(z.string(), z.unknown()).nullable().describe('One of them'),
        checked_at: timeField.nullable(),
        proven_at: timeField.nullable().describe('When it last held'),
        duration_ms: countField.nullable(),
      }),
    ),
    dead_letters: countField.describe('Usage events that could not be booked'),
    waiting_jobs: countField
      .nullable()
      .describe('Batches of usage not booked yet; null: Redis does not answer'),
  })
  .meta({ id: 'Books' });
export type Books = z.output<typeof booksSchema>;
