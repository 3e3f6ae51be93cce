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

/** SQLSTATE classes, https://www.postgresql.org/docs/current/errcodes-appendix.html */
const UNIQUE_VIOLATION = '23505';
const RETRYABLE = new Set(['40001', '40P01']);
const FEATURE_NOT_SUPPORTED = '0A000';
/** invalid_sql_statement_name, duplicate_prepared_statement */
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
 * Classes that are about the server, its load and other transactions, whatever the data is: connections, transaction state (read-only), rollbacks,
 * resources, operator intervention, system errors. Not a statement or a lock that took too long (57014, 55P03): one row that another transaction holds
 * is enough for that.
 */
const SERVER_CLASSES = /^(?:08|25|40|53|55(?!P03)|57(?!014)|58)/;
/** Messages of ioredis for a Redis that does not answer: its own failures carry no code. */
const REDIS_AWAY =
  /^(Connection is closed\.|Stream isn't writeable|Command timed out|Reached the max retries per request limit|Failed to refresh slots cache)/;
/** Messages of pg, without a code, for a connection that is not there: none was free in time, or the one in use broke. */
const POSTGRES_AWAY =
  /^(timeout exceeded when trying to connect|Connection terminated|Client has encountered a connection error)/;

function parse(error: unknown) {
  const parsed = postgresError.safeParse(
    error instanceof QueryFailedError ? error.driverError : error,
  );
  return parsed.success ? parsed.data : undefined;
}

/** A lock was not to be had within `lock_timeout`. */
export function isLockTimeout(error: unknown): boolean {
  return parse(error)?.code === '55P03';
}

/** A statement took longer than `statement_timeout`. */
export function isStatementTimeout(error: unknown): boolean {
  return parse(error)?.code === '57014';
}

/** `constraint` is the name of the index or constraint in the migration. */
export function isUniqueViolation(error: unknown, constraint: string): boolean {
  const known = parse(error);
  return known?.code === UNIQUE_VIOLATION && known.constraint === constraint;
}

/** Serialization failure or deadlock: PostgreSQL rolled everything back and asks for another try. */
export function isTransactionConflict(error: unknown): boolean {
  return RETRYABLE.has(parse(error)?.code ?? '');
}

/**
 * Returns why a prepared statement did not begin: its plan answers other columns since a migration, or the session does not have it under its name, as
 * behind a pooler. Null for all other errors. Inside a transaction PostgreSQL has aborted that.
 */
export function lostPlan(error: unknown): 'changed' | 'unknown' | null {
  const known = parse(error);
  // The code alone says only that something is not supported; the message may be in any language.
  if (known?.code === FEATURE_NOT_SUPPORTED && known.routine === 'RevalidateCachedQuery')
    return 'changed';
  return UNKNOWN_NAMES.has(known?.code ?? '') ? 'unknown' : null;
}

/** Nothing that the statement was about caused it: the same work may succeed later, and less of it would not succeed now. */
export function isServerTrouble(error: unknown): boolean {
  return SERVER_CLASSES.test(parse(error)?.code ?? '') || isConnectionFailure(error);
}

/** The database (or Redis) cannot be reached, or has no connection left: not the caller's fault and not a bug. */
export function isConnectionFailure(error: unknown): boolean {
  return (
    CONNECTION_CODES.has(parse(error)?.code ?? '') ||
    // The connection broke between two statements: its runner was released, and the next statement is refused.
    error instanceof QueryRunnerAlreadyReleasedError ||
    error instanceof QueryRunnerProviderAlreadyReleasedError ||
    (error instanceof Error &&
      (REDIS_AWAY.test(error.message) || POSTGRES_AWAY.test(error.message)))
  );
}
