import { useState } from 'react';
import { createAccessToken, type TokenScope } from '../../api/account.ts';
import { newIdempotencyKey, type Shape } from '../../api/client.ts';
import { useMe } from '../../api/session.ts';
import { Button } from '../../ui/forms/button.tsx';
import { CopyMainButton } from '../../ui/copy.tsx';
import { Dialog } from '../../ui/forms/dialog.tsx';
import { SelectField, TextField } from '../../ui/forms/field.tsx';
import { ActForm } from '../../ui/forms/form.tsx';
import { useWords } from '../../words/words.ts';

export function CreateTokenDialog({ isOpen, onClose }: { isOpen: boolean; onClose: () => void }) {
  const { settings } = useWords();
  const [created, setCreated] = useState<Shape<'CreatedAccessToken'>>();
  return (
    <Dialog
      title={created ? settings.tokenCreated : settings.createToken}
      purpose={created ? settings.tokenCreatedText : undefined}
      isOpen={isOpen}
      onClose={() => {
        setCreated(undefined);
        onClose();
      }}
    >
      {({ close, markChanged, markSaved }) =>
        created ? (
          // A repeated request answers the same token without its text.
          <CreatedToken token={created.token ?? created.token_prefix} onClose={close} />
        ) : (
          <TokenForm
            onCreated={(token) => {
              markSaved();
              setCreated(token);
            }}
            onCancel={close}
            onChanged={markChanged}
          />
        )
      }
    </Dialog>
  );
}

function CreatedToken({ token, onClose }: { token: string; onClose: () => void }) {
  const { settings, general } = useWords();
  return (
    <div className="flex flex-col gap-4">
      <code className="foreign rounded-md bg-sunken p-3">{token}</code>
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>{general.close}</Button>
        <CopyMainButton text={token} label={settings.copyToken} />
      </div>
    </div>
  );
}

interface TokenFormProps {
  onCreated: (token: Shape<'CreatedAccessToken'>) => void;
  onCancel: () => void;
  onChanged: () => void;
}

function TokenForm({ onCreated, onCancel, onChanged }: TokenFormProps) {
  const { settings } = useWords();
  const me = useMe();
  const [idempotencyKey] = useState(newIdempotencyKey);
  const scopes: TokenScope[] = me.role === 'admin' ? ['read', 'write', 'admin'] : ['read', 'write'];
  return (
    <ActForm
      verb={settings.createToken}
      act={({ name = '', scope = '', expires_at: expires = '' }) =>
        createAccessToken({
          name,
          scope: scopes.find((known) => known === scope) ?? 'read',
          ...(expires !== '' && { expires_at: new Date(expires).toISOString() }),
          idempotencyKey,
        })
      }
      onDone={onCreated}
      onCancel={onCancel}
      onChanged={onChanged}
    >
      <TextField name="name" label={settings.tokenName} required autoComplete="off" />
      <SelectField
        name="scope"
        label={settings.scope}
        options={scopes.map((scope) => ({ value: scope, label: settings.scopes[scope] }))}
      />
      <TextField
        name="expires_at"
        label={settings.expires}
        help={settings.expiresHelp}
        type="datetime-local"
      />
    </ActForm>
  );
}
