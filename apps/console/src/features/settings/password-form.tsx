import { useState } from 'react';
import { notify } from '../../browser/notices.ts';
import { useWords } from '../../words/words.ts';
import { ChangePasswordForm } from '../access/change-password-form.tsx';

export function PasswordForm() {
  const { settings } = useWords();
  const [round, setRound] = useState(0);
  return (
    <div className="max-w-sm">
      <ChangePasswordForm
        // The form is new after each change: passwords do not stay on screen.
        key={round}
        currentLabel={settings.currentPassword}
        look="secondary"
        onDone={() => {
          notify({ title: settings.passwordChanged });
          setRound(round + 1);
        }}
      />
    </div>
  );
}
