import { useQueryClient } from '@tanstack/react-query';
import { useWords } from '../../words/words.ts';
import { AccessFrame } from './access-frame.tsx';
import { ChangePasswordForm } from './change-password-form.tsx';

/** Replaces every page until a one-time password has been replaced: the server refuses all else until then. */
export function OwnPassword() {
  const { access } = useWords();
  const queries = useQueryClient();
  return (
    <AccessFrame title={access.ownPassword} purpose={access.ownPasswordText}>
      <ChangePasswordForm
        currentLabel={access.oneTimePassword}
        onDone={() => void queries.resetQueries()}
      />
    </AccessFrame>
  );
}
