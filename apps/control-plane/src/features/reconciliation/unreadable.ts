import { UnreadableBalance } from '@tollgate/keyspace';

/** Handles a failed read of a balance; rethrows every error but `UnreadableBalance`. */
export function unreadable(error: unknown): 'unreadable' {
  if (error instanceof UnreadableBalance) return 'unreadable';
  throw error;
}
