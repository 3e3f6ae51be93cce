import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { signIn } from '../../api/session.ts';
import { paths } from '../../paths.ts';
import { TextLink } from '../../ui/forms/button.tsx';
import { TextField } from '../../ui/forms/field.tsx';
import { ActForm } from '../../ui/forms/form.tsx';
import { optional, useSearchState, z } from '../../ui/tables/search-state.ts';
import { useWords } from '../../words/words.ts';
import { AccessFrame } from './access-frame.tsx';
import { PasswordField } from './password-field.tsx';

/** `next` is a path of the console, never another site. */
const search = z.object({
  next: optional(z.string().check(z.regex(/^\/(?![/\\])/))),
});

export function Page() {
  const { access } = useWords();
  const [{ next }] = useSearchState(search);
  // A person who opened the console itself wants the page where their work begins.
  const isNowhere = next === undefined || next === paths.home();
  const queries = useQueryClient();
  const navigate = useNavigate();
  return (
    <AccessFrame title={access.signIn} purpose={isNowhere ? access.signInPurpose : access.ended}>
      <ActForm
        verb={access.signIn}
        act={({ username = '', password = '' }) => signIn({ username, password })}
        onDone={({ user }) => {
          queries.clear();
          const home = user.role === 'admin' ? paths.admin() : paths.home();
          void navigate({ to: isNowhere ? home : next, replace: true });
        }}
      >
        <TextField name="username" label={access.username} autoComplete="username" required />
        <PasswordField name="password" label={access.password} />
      </ActForm>
      <p className="mt-5 border-t border-line pt-4 text-text-2">
        {access.noAccount} <TextLink to={paths.register()}>{access.register}</TextLink>
      </p>
    </AccessFrame>
  );
}
