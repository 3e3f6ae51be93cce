import { answerPassword } from '../../api/password-question.ts';
import { confirmPassword } from '../../api/session.ts';
import { Dialog } from '../../ui/forms/dialog.tsx';
import { ActForm } from '../../ui/forms/form.tsx';
import { useWords } from '../../words/words.ts';
import { PasswordField } from './password-field.tsx';

/** Asks for the password again; the call that needed it is repeated then, and fails when it is not given. */
export function PasswordDialog({ onClose }: { onClose: () => void }) {
  const { access } = useWords();
  const end = (isGiven: boolean): void => {
    answerPassword(isGiven);
    onClose();
  };
  return (
    <Dialog
      title={access.passwordAgain}
      purpose={access.passwordAgainText}
      isOpen
      onClose={() => end(false)}
    >
      {({ close }) => (
        <ActForm
          verb={access.confirmPassword}
          act={({ password = '' }) => confirmPassword(password)}
          onDone={() => end(true)}
          onCancel={close}
        >
          <PasswordField name="password" label={access.password} />
        </ActForm>
      )}
    </Dialog>
  );
}
