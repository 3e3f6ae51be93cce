import {
  QueryFailedError,
  QueryRunnerAlreadyReleasedError,
  QueryRunnerProviderAlreadyReleasedError,
} from 'typeorm';
import { z } from 'zod';

const postgresError = z.object({
  code: z.string(),
  constraint: z.string().optional(),
  routine: z.string().optional(),
});

/** PostgreSQL lists its SQLSTATE codes: https://www.postgresql.org/docs/current/errcodes-appendix.html */
const UNIQUE_VIOLATION = '23505';
const RETRYABLE = new Set(['40001', '40P01']);
const FEATURE_NOT_SUPPORTED = '0A000';
/** Holds the SQLSTATE codes invalid_sql_statement_name and duplicate_prepared_statement. */
const UNKNOWN_NAMES = new Set(['26000', '42P05']);
const CONNECTION_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  '57P01',
  '57P02',
  '57P03',
  '08000',
  '08003',
  '08006',
  '53300',
]);
/**
 * These SQLSTATE classes concern the server, its load and other transactions, whatever the data is: connections, transaction state (read-only),
 * rollbacks, resources, operator intervention, system errors. A statement or lock timeout (57014, 55P03) is excluded, because one row that another
 * transaction locks can cause it.
 */
const SERVER_CLASSES = /^(?:08|25|40|53|55(?!P03)|57(?!014)|58)/;
/** ioredis reports a Redis that does not answer by these messages, without a code. */
const REDIS_AWAY =
  /^(Connection is closed\.|Stream isn't writeable|Command timed out|Reached the max retries per request limit|Failed to refresh slots cache)/;
/** pg reports a missing connection by these messages, without a code: none was free in time, or the one in use broke. */
const POSTGRES_AWAY =
  /^(timeout exceeded when trying to connect|Connection terminated|Client has encountered a connection error)/;

function parse(error: unknown) {
  const parsed = postgresError.safeParse(
    error instanceof QueryFailedError ? error.driverError : error,
  );
  return parsed.success ? parsed.data : undefined;
}

/** Returns whether a lock was not available within `lock_timeout`. */
export function isLockTimeout(error: unknown): boolean {
  return parse(error)?.code === '55P03';
}

/** Returns whether a statement took longer than `statement_timeout`. */
export function isStatementTimeout(error: unknown): boolean {
  return parse(error)?.code === '57014';
}

/** Returns whether an insert or update violated the unique index or constraint with this name in the migration. */
export function isUniqueViolation(error: unknown, constraint: string): boolean {
  const known = parse(error);
  return known?.code === UNIQUE_VIOLATION && known.constraint === constraint;
}

/** Returns whether the error is a serialization failure or a deadlock: PostgreSQL rolled the transaction back, and it can be repeated. */
export function isTransactionConflict(error: unknown): boolean {
  return RETRYABLE.has(parse(error)?.code ?? '');
}

/**
 * Returns why a prepared statement did not begin: `changed` when its plan returns other columns since a migration, `unknown` when the session has no
 * statement of that name, as behind a pooler. Returns null for all other errors. PostgreSQL has then aborted an open transaction.
 */
export function lostPlan(error: unknown): 'changed' | 'unknown' | null {
  const known = parse(error);
  // The code says only that a feature is not supported, and the message may be in any language.
  if (known?.code === FEATURE_NOT_SUPPORTED && known.routine === 'RevalidateCachedQuery')
    return 'changed';
  return UNKNOWN_NAMES.has(known?.code ?? '') ? 'unknown' : null;
}

/** Returns whether the server's state caused the error and not the statement. The same work may succeed later, and less work would not succeed now. */
export function isServerTrouble(error: unknown): boolean {
  return SERVER_CLASSES.test(parse(error)?.code ?? '') || isConnectionFailure(error);
}

/** Returns whether the database (or Redis) cannot be reached or has no connection left, which is neither the caller's fault nor a bug. */
export function isConnectionFailure(error: unknown): boolean {
  return (
    CONNECTION_CODES.has(parse(error)?.code ?? '') ||
    // The connection broke between two statements: its runner was released, so the next statement is refused.
    error instanceof QueryRunnerAlreadyReleasedError ||
    error instanceof QueryRunnerProviderAlreadyReleasedError ||
    (error instanceof Error &&
      (REDIS_AWAY.test(error.message) || POSTGRES_AWAY.test(error.message)))
  );
}
