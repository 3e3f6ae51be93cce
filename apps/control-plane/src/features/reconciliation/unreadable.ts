import { UnreadableBalance } from '@tollgate/keyspace';

/** For a read of a balance: what is not `UnreadableBalance` is thrown on. */
export function unreadable(error: unknown): 'unreadable' {
  if (error instanceof UnreadableBalance) return 'unreadable';
  throw error;
}
