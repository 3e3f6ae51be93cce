import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useEffect } from 'react';
import { failureOf, isRefused } from '../../api/failure.ts';
import { signIn, type Credentials } from '../../api/session.ts';
import { paths } from '../../paths.ts';
import { TextLink } from '../../ui/forms/button.tsx';
import { useWords } from '../../words/words.ts';
import { AccessFrame } from './access-frame.tsx';

/** Is rare enough not to look like guessing: the server counts sign-ins. */
const ASK_EVERY_MS = 5_000;

/** Waits with the credentials that were just chosen, and signs in the moment the account is approved. They are in memory only. */
export function AwaitApproval({ credentials }: { credentials: Credentials }) {
  const words = useWords();
  const { access } = words;
  const queries = useQueryClient();
  const navigate = useNavigate();
  const { data: isIn, error } = useQuery({
    queryKey: ['approval', credentials.username],
    queryFn: async () => {
      try {
        await signIn(credentials);
        return true;
      } catch (failure) {
        if (isRefused(failure, 'account_pending')) return false;
        throw failure;
      }
    },
    retry: false,
    refetchInterval: ASK_EVERY_MS,
  });
  useEffect(() => {
    if (isIn !== true) return;
    queries.clear();
    void navigate({ to: paths.home(), replace: true });
  }, [isIn, queries, navigate]);
  return (
    <AccessFrame
      title={access.registeredTitle}
      purpose={access.registeredDetail(credentials.username)}
    >
      <p role="status" className="flex items-center gap-2.5 font-medium">
        <span aria-hidden className="size-2 animate-pulse rounded-full bg-warn" />
        {error === null ? access.registeredLive : failureOf(error, words).title}
      </p>
      <p className="mt-2 text-text-2">{access.approvedSoon}</p>
      <p className="mt-5 border-t border-line pt-4">
        <TextLink to={paths.login()}>{access.goToSignIn}</TextLink>
      </p>
    </AccessFrame>
  );
}
