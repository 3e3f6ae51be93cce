import { changePassword } from '../../api/session.ts';
import { ActForm } from '../../ui/forms/form.tsx';
import { useWords } from '../../words/words.ts';
import { PasswordField } from './password-field.tsx';

/** Asks for the password in force, and the one that replaces it. */
export function ChangePasswordForm({
  currentLabel,
  look,
  onDone,
}: {
  currentLabel: string;
  look?: 'secondary';
  onDone: () => void;
}) {
  const { settings } = useWords();
  return (
    <ActForm
      verb={settings.changePassword}
      {...(look && { look })}
      act={({ current_password = '', new_password = '' }) =>
        changePassword({ current_password, new_password })
      }
      onDone={onDone}
    >
      <PasswordField name="current_password" label={currentLabel} />
      <PasswordField
        name="new_password"
        label={settings.newPassword}
        help={settings.newPasswordHelp}
        isNew
      />
    </ActForm>
  );
}
