import { QueryFailedError } from 'typeorm';

/** Returns PostgreSQL's refusal of a row whose unique key is taken, as the driver throws it. */
export function refusedRow(key: string): QueryFailedError {
  const refused = Object.assign(new Error(`the row ${key} is there already`), { code: '23505' });
  return new QueryFailedError('INSERT', [], refused);
}
