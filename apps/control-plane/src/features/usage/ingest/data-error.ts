import { QueryFailedError } from 'typeorm';
import { z } from 'zod';

const postgresError = z.object({ code: z.string().length(5) });

/**
 * Whether PostgreSQL refused the data itself (class 22 data exception, class 23 integrity), so that every retry of the same batch would fail.
 * https://www.postgresql.org/docs/current/errcodes-appendix.html
 */
export function isDataError(error: unknown): error is QueryFailedError {
  if (!(error instanceof QueryFailedError)) return false;
  const parsed = postgresError.safeParse(error.driverError);
  return parsed.success && /^2[23]/.test(parsed.data.code);
}
