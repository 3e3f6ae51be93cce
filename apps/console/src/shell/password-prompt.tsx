import { lazy, Suspense, useEffect, useState } from 'react';
import { PASSWORD_ASKED } from '../api/password-question.ts';

const PasswordDialog = lazy(async () => ({
  default: (await import('../features/access/password-dialog.tsx')).PasswordDialog,
}));

/** Loads the dialog with the first question for a password. */
export function PasswordPrompt() {
  const [isAsked, setAsked] = useState(false);
  useEffect(() => {
    const ask = (): void => setAsked(true);
    window.addEventListener(PASSWORD_ASKED, ask);
    return () => window.removeEventListener(PASSWORD_ASKED, ask);
  }, []);
  return (
    isAsked && (
      <Suspense fallback={null}>
        <PasswordDialog onClose={() => setAsked(false)} />
      </Suspense>
    )
  );
}
