import { useState } from 'react';
import { changePassword } from '../../api/session.ts';
import { notify } from '../../shell/notices.ts';
import { ActForm } from '../../ui/form.tsx';
import { useWords } from '../../words/words.ts';
import { PasswordField } from '../access/password-field.tsx';

export function PasswordForm() {
  const { settings } = useWords();
  const [round, setRound] = useState(0);
  return (
    <div className="max-w-sm">
      <ActForm
        // Again after each change: passwords do not stay on screen.
        key={round}
        verb={settings.changePassword}
        look="secondary"
        act={({ current_password = '', new_password = '' }) =>
          changePassword({ current_password, new_password })
        }
        onDone={() => {
          notify({ title: settings.passwordChanged });
          setRound(round + 1);
        }}
      >
        <PasswordField name="current_password" label={settings.currentPassword} />
        <PasswordField
          name="new_password"
          label={settings.newPassword}
          help={settings.newPasswordHelp}
          isNew
        />
      </ActForm>
    </div>
  );
}
