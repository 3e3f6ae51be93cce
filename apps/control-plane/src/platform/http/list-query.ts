import type { ObjectLiteral, SelectQueryBuilder } from 'typeorm';
import { z } from 'zod';
import { trimmedText } from './text-field.ts';
import { INTEGER_MAX } from '../database/integer-max.ts';

export const PAGE_SIZE_MAX = 100;
const PAGE_SIZE = 20;
/** OFFSET reads the rows that it skips, so callers reach deep rows with filters instead of pages. */
const PAGE_MAX = 10_000;
const SEARCH_CHARS_MAX = 200;

export interface ListQuery<Sort extends string = string> {
  page: number;
  page_size: number;
  sort: Sort | `-${Sort}`;
  q?: string | undefined;
}

export interface Page<T> {
  data: T[];
  page: number;
  page_size: number;
  total: number;
  has_more: boolean;
}

/** Describes the answer of a paged list. */
export function pageOf<T extends z.ZodType>(row: T) {
  return z.object({
    data: z.array(row),
    page: z.int(),
    page_size: z.int(),
    total: z.int().describe('Rows of all pages'),
    has_more: z.boolean().describe('A further page exists'),
  });
}

/** Describes the query of a paged list: `page`, `page_size`, `sort` (a listed name; `-name` sorts descending), `q` and the given filters. It refuses anything else. It is used as `@Query({ schema: listQuery({ sorts: ['id', 'name'], sort: 'id', filters: { status: z.enum(...).optional() } }) })`. */
export function listQuery<const Sort extends string, Filters extends z.ZodRawShape>(options: {
  sorts: readonly [Sort, ...Sort[]];
  sort: Sort | `-${Sort}`;
  filters: Filters;
}) {
  const directions = options.sorts.flatMap((name): (Sort | `-${Sort}`)[] => [name, `-${name}`]);
  return z.strictObject({
    page: z.coerce.number().int().min(1).max(PAGE_MAX).default(1),
    page_size: z.coerce.number().int().min(1).max(PAGE_SIZE_MAX).default(PAGE_SIZE),
    sort: z
      .enum(directions as [Sort | `-${Sort}`, ...(Sort | `-${Sort}`)[]])
      .default(options.sort as never)
      .describe('A leading - sorts descending'),
    q: trimmedText(SEARCH_CHARS_MAX).optional().describe('Part of a name, any case'),
    ...options.filters,
  });
}

const MOMENT = 'must be a date or a time of ISO 8601, e.g. 2026-01-31 or 2026-01-31T12:00:00Z';
/** Reads a point in time in a body or query and parses it to ISO 8601 UTC. A date alone is its start in UTC. */
export const momentField = z
  .union([z.iso.datetime({ offset: true }), z.iso.date()], MOMENT)
  .transform((text) => new Date(text).toISOString());

export const IN_FUTURE = 'must lie in the future';

/** Several lists share these filter values. */
export const idFilter = z.coerce.number().int().positive().max(INTEGER_MAX);
export const booleanFilter = z.enum(['true', 'false']).transform((text) => text === 'true');

/** The API document cannot express these rules for the parts of a text. */
const IDS_RULES = [`must be at most ${INTEGER_MAX}`, `must have at most ${PAGE_SIZE_MAX} entries`];

/** Describes a query such as `?ids=3,17`. */
export function idsQuery(of: string) {
  return z.strictObject({
    ids: z
      .string()
      .regex(/^[1-9]\d{0,9}(,[1-9]\d{0,9})*$/, 'must be ids separated by commas, e.g. 3,17')
      .transform((text) => [...new Set(text.split(',').map(Number))])
      .pipe(z.array(z.number().max(INTEGER_MAX)).max(PAGE_SIZE_MAX))
      .meta({
        description: `Ids of ${of}, separated by commas; ${PAGE_SIZE_MAX} at most`,
        'x-rules': IDS_RULES,
      }),
  });
}
export type IdsQuery = z.output<ReturnType<typeof idsQuery>>;

/**
 * Reads one page of a list. `columns` maps each sort name to a column of the builder (`alias.property`), and `search` names the text columns that `q`
 * searches. The id breaks ties, so that no row appears on two pages.
 */
export async function readPage<Row extends ObjectLiteral, Out, Sort extends string>(
  builder: SelectQueryBuilder<Row>,
  query: ListQuery<Sort>,
  options: { columns: Record<Sort, string>; search?: string[]; map: (row: Row) => Out },
): Promise<Page<Out>> {
  const isDescending = query.sort.startsWith('-');
  const column = options.columns[(isDescending ? query.sort.slice(1) : query.sort) as Sort];
  const direction = isDescending ? 'DESC' : 'ASC';
  if (query.q !== undefined && options.search?.length) {
    builder.andWhere(`(${options.search.map((name) => `${name} ILIKE :q`).join(' OR ')})`, {
      q: `%${escapeLike(query.q)}%`,
    });
  }
  const counter = builder.clone();
  builder
    .orderBy(column, direction)
    .addOrderBy(`${builder.alias}.id`, direction)
    .skip((query.page - 1) * query.page_size)
    .take(query.page_size);
  // Both statements run at the same time, because each may read the whole table.
  const [rows, total] = await Promise.all([builder.getMany(), counter.getCount()]);
  const { page, page_size } = query;
  const has_more = page * page_size < total;
  return { data: rows.map(options.map), page, page_size, total, has_more };
}

/** Escapes a caller's text for LIKE, so that it matches only itself. */
export function escapeLike(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&');
}
