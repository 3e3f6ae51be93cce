import { useState } from 'react';
import { register, type Credentials } from '../../api/session.ts';
import { paths } from '../../paths.ts';
import { TextLink } from '../../ui/forms/button.tsx';
import { TextField } from '../../ui/forms/field.tsx';
import { ActForm } from '../../ui/forms/form.tsx';
import { useWords } from '../../words/words.ts';
import { AccessFrame } from './access-frame.tsx';
import { AwaitApproval } from './await-approval.tsx';
import { PasswordField } from './password-field.tsx';

export function Page() {
  const { access } = useWords();
  const [waiting, setWaiting] = useState<Credentials>();
  if (waiting) return <AwaitApproval credentials={waiting} />;
  return (
    <AccessFrame title={access.registerTitle} purpose={access.registerPurpose}>
      <ActForm
        verb={access.register}
        act={async ({ username = '', password = '' }) => {
          await register({ username, password });
          return { username, password };
        }}
        onDone={setWaiting}
      >
        <TextField
          name="username"
          label={access.username}
          help={access.usernameHelp}
          autoComplete="username"
          required
        />
        <PasswordField name="password" label={access.password} help={access.passwordHelp} isNew />
      </ActForm>
      <p className="mt-5 border-t border-line pt-4 text-text-2">
        {access.haveAccount} <TextLink to={paths.login()}>{access.signIn}</TextLink>
      </p>
    </AccessFrame>
  );
}
