import { useQueryClient } from '@tanstack/react-query';
import { failureOf } from '../../api/failure.ts';
import { signOut } from '../../api/session.ts';
import { notify } from '../../browser/notices.ts';
import { BASE, paths } from '../../paths.ts';
import { dropDrafts } from './drafts.ts';
import { useWords } from '../../words/words.ts';

/** Leaves the console: the answered function shows the page of signing in. */
export function useLeave(): () => void {
  const queries = useQueryClient();
  return () => {
    // A whole new page loads: nothing of the account stays in memory.
    queries.clear();
    dropDrafts();
    window.location.assign(new URL(paths.login().slice(1), BASE));
  };
}

/** Ends this session and leaves the console. */
export function useSignOut(): () => void {
  const words = useWords();
  const leave = useLeave();
  return () =>
    void signOut({ all: false }).then(leave, (error: unknown) =>
      notify({ ...failureOf(error, words), isBad: true }),
    );
}
