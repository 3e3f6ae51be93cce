import { useQueryClient } from '@tanstack/react-query';
import { changePassword } from '../../api/session.ts';
import { ActForm } from '../../ui/form.tsx';
import { useWords } from '../../words/words.ts';
import { AccessFrame } from './access-frame.tsx';
import { PasswordField } from './password-field.tsx';

/** In place of every page until a one-time password has been replaced: the server refuses all else until then. */
export function OwnPassword() {
  const { access, settings } = useWords();
  const queries = useQueryClient();
  return (
    <AccessFrame title={access.ownPassword} purpose={access.ownPasswordText}>
      <ActForm
        verb={settings.changePassword}
        act={({ current_password = '', new_password = '' }) =>
          changePassword({ current_password, new_password })
        }
        onDone={() => void queries.resetQueries()}
      >
        <PasswordField name="current_password" label={access.oneTimePassword} />
        <PasswordField
          name="new_password"
          label={settings.newPassword}
          help={settings.newPasswordHelp}
          isNew
        />
      </ActForm>
    </AccessFrame>
  );
}
