import type pg from 'pg';
import { z } from 'zod';

export async function readCount(database: pg.Client, text: string): Promise<number> {
  const { rows } = await database.query(text);
  return z.tuple([z.object({ count: z.coerce.number() })]).parse(rows)[0].count;
}

export async function readProblems(database: pg.Client, text: string): Promise<string[]> {
  const { rows } = await database.query(text);
  return z
    .array(z.object({ problem: z.string() }))
    .parse(rows)
    .map(({ problem }) => problem);
}
