import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query';
import { AdminRefusal } from '@tollgate/admin-client';
import { FRESH_MS } from './live.ts';
import { meQuery } from './session.ts';

const RETRIES_MAX = 2;

/** A session that ended anywhere ends everywhere: the shell sees that there is no account and asks to sign in. */
function noticeEndOfSession(error: unknown): void {
  if (error instanceof AdminRefusal && error.status === 401)
    queryClient.setQueryData(meQuery.queryKey, null);
}

/** Returns true for a broken connection and for 5xx, which may pass. A refusal of the server stays one. After one wait without an answer the person decides whether to wait again. */
function mayPass(error: unknown): boolean {
  if (error instanceof AdminRefusal) return error.status >= 500;
  return !(error instanceof DOMException && error.name === 'TimeoutError');
}

export const queryClient: QueryClient = new QueryClient({
  queryCache: new QueryCache({ onError: noticeEndOfSession }),
  mutationCache: new MutationCache({ onError: noticeEndOfSession }),
  defaultOptions: {
    queries: {
      staleTime: FRESH_MS,
      retry: (failures, error) => failures < RETRIES_MAX && mayPass(error),
      retryDelay: (failures) => Math.min(500 * 2 ** failures, 4_000),
      // A request that cannot be sent fails and says so, instead of waiting for a network that may be there.
      networkMode: 'always',
    },
    mutations: { retry: false, networkMode: 'always' },
  },
});
