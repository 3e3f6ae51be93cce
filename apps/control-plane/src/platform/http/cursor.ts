import { z } from 'zod';
import { PAGE_SIZE_MAX } from './list-query.ts';
import { Refusal } from './refusal.ts';

const PAGE_SIZE = 50;
const CURSOR_CHARS_MAX = 512;

export interface CursorPage<T> {
  data: T[];
  /** Is null on the last page. */
  next_cursor: string | null;
  has_more: boolean;
}

/** Describes the query of a log that is read by cursor: `cursor`, `page_size` and the given filters. */
export function cursorQuery<Filters extends z.ZodRawShape>(filters: Filters) {
  return z.strictObject({
    cursor: z
      .string()
      .min(1)
      .max(CURSOR_CHARS_MAX)
      .optional()
      .describe('`next_cursor` of the page before'),
    page_size: z.coerce.number().int().min(1).max(PAGE_SIZE_MAX).default(PAGE_SIZE),
    ...filters,
  });
}

/** Describes the answer of a log that is read by cursor. */
export function cursorPageOf<T extends z.ZodType>(row: T) {
  return z.object({
    data: z.array(row),
    next_cursor: z.string().nullable().describe('null on the last page'),
    has_more: z.boolean().describe('A further page exists'),
  });
}

/** Encodes the sort key of the last row as JSON in base64url. Callers treat the text as opaque. */
function encodeCursor(key: unknown): string {
  return Buffer.from(JSON.stringify(key)).toString('base64url');
}

/** Decodes a cursor; throws invalid_cursor unless it holds what `schema` describes. */
export function decodeCursor<T>(cursor: string, schema: z.ZodType<T>): T {
  const parsed = schema.safeParse(parseJson(Buffer.from(cursor, 'base64url').toString('utf8')));
  if (!parsed.success) throw new Refusal('invalid_cursor');
  return parsed.data;
}

/** Makes a page from `pageSize + 1` rows. The extra row shows that a next page exists. */
export function toCursorPage<Row, Out>(
  rows: Row[],
  options: { pageSize: number; keyOf: (row: Row) => unknown; map: (row: Row) => Out },
): CursorPage<Out> {
  const shown = rows.slice(0, options.pageSize);
  const last = shown.at(-1);
  const hasMore = rows.length > options.pageSize && last !== undefined;
  return {
    data: shown.map(options.map),
    next_cursor: hasMore ? encodeCursor(options.keyOf(last)) : null,
    has_more: hasMore,
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Refusal('invalid_cursor');
  }
}
