import { QueryFailedError } from 'typeorm';
import { z } from 'zod';

const DATA_CLASSES = /^2[23]/;
const postgresError = z.object({ code: z.string().length(5) });

/** Returns whether a driver's error, wrapped or not, is such a refusal: rows that COPY refused can still be inserted, row by row if needed. */
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
