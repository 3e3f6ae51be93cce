import { queryOptions, useSuspenseQuery } from '@tanstack/react-query';
import { AdminRefusal, answerOf } from '@tollgate/admin-client';
import { client } from './client.ts';

async function readMe() {
  try {
    return await answerOf(client.GET('/admin-api/auth/me'));
  } catch (error) {
    if (error instanceof AdminRefusal && error.status === 401) return null;
    throw error;
  }
}

/** Reads the account that is signed in; null when there is none. */
export const meQuery = queryOptions({
  queryKey: ['me'],
  queryFn: readMe,
  staleTime: 60_000,
});

export type Me = NonNullable<Awaited<ReturnType<typeof readMe>>>;

/** Returns the account on pages behind the shell, which shows none of them without an account. */
export function useMe(): Me {
  const { data } = useSuspenseQuery(meQuery);
  if (data === null) throw new Error('there is no account');
  return data;
}

export interface Credentials {
  username: string;
  password: string;
}

export function signIn(body: Credentials) {
  return answerOf(
    client.POST('/admin-api/auth/login', { params: { query: { session: 'cookie' } }, body }),
  );
}

export function register(body: Credentials) {
  return answerOf(client.POST('/admin-api/auth/register', { body }));
}

/** Ends this session, or every session of the account. */
export function signOut({ all }: { all: boolean }) {
  return answerOf(client.POST('/admin-api/auth/logout', { body: { all } }));
}

export function confirmPassword(password: string) {
  return answerOf(client.POST('/admin-api/auth/confirm-password', { body: { password } }));
}

export function changePassword(body: { current_password: string; new_password: string }) {
  return answerOf(client.POST('/admin-api/auth/password', { body }));
}
