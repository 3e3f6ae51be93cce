import { QueryFailedError } from 'typeorm';
import { z } from 'zod';

const DATA_CLASSES = /^2[23]/;
const postgresError = z.object({ code: z.string().length(5) });

/** The same of an error that a driver threw, wrapped or not: what was copied can still be inserted, row by row if need be. */
export function isRefusedData(error: unknown): boolean {
  const parsed = postgresError.safeParse(
    error instanceof QueryFailedError ? error.driverError : error,
  );
  return parsed.success && DATA_CLASSES.test(parsed.data.code);
}

/**
 * Returns true if PostgreSQL refused the data itself (class 22 data exception, class 23 integrity), so that every retry of the same batch would fail.
 * https://www.postgresql.org/docs/current/errcodes-appendix.html
 */
export function isDataError(error: unknown): error is QueryFailedError {
  return error instanceof QueryFailedError && isRefusedData(error);
}
