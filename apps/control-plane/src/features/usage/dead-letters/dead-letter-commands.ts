import type { DataSource } from 'typeorm';
import { z } from 'zod';
import { configSchema } from '../../../config.ts';
import { SYSTEM } from '../../activity/activity.service.ts';
import {
  bookDeadLetterSchema,
  deadLetterListSchema,
  dismissDeadLetterSchema,
} from './dead-letters.dto.ts';
import { offlineDeadLetters } from './offline-dead-letters.ts';

const PAGE_SIZE = 100;
const idSchema = z.coerce.number().int().positive();

/** What the program of administrators prints, one JSON object a line; undefined when its arguments are not those of a command. */
export async function runDeadLetterCommand(
  dataSource: DataSource,
  [command, idText, text, ...rest]: readonly string[],
  { isConfirmed }: { isConfirmed: boolean },
): Promise<object[] | undefined> {
  const { SHARDS, ALERT_WEBHOOK_URL } = configSchema
    .pick({ SHARDS: true, ALERT_WEBHOOK_URL: true })
    .parse(process.env);
  const letters = offlineDeadLetters(dataSource, { SHARDS, ALERT_WEBHOOK_URL });
  if (command === 'dead-letters' && idText === undefined) {
    const query = deadLetterListSchema.parse({ sort: 'id', page_size: PAGE_SIZE });
    return (await letters.list(query)).data;
  }
  const id = idSchema.safeParse(idText).data;
  if (id === undefined || rest.length > 0) return undefined;
  if (command === 'book-dead-letter') {
    const body = bookDeadLetterSchema.parse({
      fields: JSON.parse(text ?? '{}'),
      although_day_was_dropped: isConfirmed,
    });
    return [await letters.book(SYSTEM, id, body)];
  }
  if (command !== 'dismiss-dead-letter') return undefined;
  return [await letters.dismiss(SYSTEM, id, dismissDeadLetterSchema.parse({ note: text }))];
}
