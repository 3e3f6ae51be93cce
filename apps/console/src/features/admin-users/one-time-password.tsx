import { useState, type ReactNode } from 'react';
import { createUser, resetPassword, type User } from '../../api/users.ts';
import { CopyMainButton } from '../../ui/copy.tsx';
import { Dialog } from '../../ui/forms/dialog.tsx';
import { SelectField, TextField } from '../../ui/forms/field.tsx';
import { ActForm, type FormValues } from '../../ui/forms/form.tsx';
import { formatExact } from '../../ui/time/time.tsx';
import { useZone } from '../../ui/time/zone.tsx';
import { useSpeech, useWords } from '../../words/words.ts';

interface OneTime {
  one_time_password: string | null;
  one_time_until: string;
}

interface OneTimeDialogProps {
  title: string;
  verb: string;
  isOpen: boolean;
  onClose: () => void;
  act: (values: FormValues) => Promise<OneTime>;
  children: ReactNode;
}

/** Shows a form whose answer is a one-time password, displayed this once. */
function OneTimeDialog({ title, verb, isOpen, onClose, act, children }: OneTimeDialogProps) {
  const { words, locale } = useSpeech();
  const { zone } = useZone();
  const { users } = words.admin;
  const [made, setMade] = useState<OneTime>();
  return (
    <Dialog
      title={title}
      purpose={made && users.oneTimeText(formatExact(made.one_time_until, { locale, zone }))}
      isOpen={isOpen}
      onClose={() => {
        setMade(undefined);
        onClose();
      }}
    >
      {({ close, markChanged, markSaved }) =>
        made ? (
          <OneTimeSecret of={made.one_time_password ?? users.oneTimeGone} />
        ) : (
          <ActForm
            verb={verb}
            act={act}
            onDone={(answer) => {
              markSaved();
              setMade(answer);
            }}
            onChanged={markChanged}
            onCancel={close}
          >
            {children}
          </ActForm>
        )
      }
    </Dialog>
  );
}

function OneTimeSecret({ of: secret }: { of: string }) {
  const { users } = useWords().admin;
  return (
    <div className="flex flex-wrap items-center gap-3 rounded-md border border-line bg-sunken p-3">
      <code className="foreign min-w-0 flex-1 basis-48" data-testid="secret">
        {secret}
      </code>
      <CopyMainButton text={secret} label={users.copyPassword} />
    </div>
  );
}

/** Creates an account without a registration: its owner signs in with a one-time password. */
export function CreateUserDialog({ isOpen, onClose }: { isOpen: boolean; onClose: () => void }) {
  const { admin, access } = useWords();
  const { users } = admin;
  return (
    <OneTimeDialog
      title={users.add}
      verb={users.add}
      isOpen={isOpen}
      onClose={onClose}
      act={({ username = '', role }) =>
        createUser({ username, role: role === 'admin' ? 'admin' : 'user' })
      }
    >
      <TextField
        name="username"
        label={access.username}
        help={access.usernameHelp}
        required
        autoComplete="off"
      />
      <SelectField
        name="role"
        label={users.role}
        options={(['user', 'admin'] as const).map((value) => ({
          value,
          label: users.roles[value],
        }))}
      />
    </OneTimeDialog>
  );
}

export function ResetPasswordDialog({ of: user, onClose }: { of: User; onClose: () => void }) {
  const { admin } = useWords();
  const { users } = admin;
  return (
    <OneTimeDialog
      title={`${users.resetPassword}: ${user.username}`}
      verb={users.resetPassword}
      isOpen
      onClose={onClose}
      act={() => resetPassword(user.id)}
    >
      <p className="text-text-2">{users.resetText}</p>
    </OneTimeDialog>
  );
}
