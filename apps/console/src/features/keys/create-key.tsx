import { useState } from 'react';
import { newIdempotencyKey } from '../../api/client.ts';
import { createKey, type CreatedKey } from '../../api/keys.ts';
import { ActForm } from '../../ui/forms/form.tsx';
import { useWords } from '../../words/words.ts';
import { KeyFields, settingsOf } from './key-fields.tsx';
import { KeySecretDialog } from './key-secret-dialog.tsx';

/** Leads from a name to the first call: the form, then the secret with snippets that use it, then the call as it arrives. */
export function CreateKeyDialog({
  userId,
  isOpen,
  onClose,
}: {
  userId: number;
  isOpen: boolean;
  onClose: () => void;
}) {
  const { keys } = useWords();
  return (
    <KeySecretDialog title={keys.create} isOpen={isOpen} onClose={onClose}>
      {({ close, markChanged }, onCreated) => (
        <CreateKeyForm
          userId={userId}
          onCreated={onCreated}
          onChanged={markChanged}
          onCancel={close}
        />
      )}
    </KeySecretDialog>
  );
}

function CreateKeyForm({
  userId,
  onCreated,
  onChanged,
  onCancel,
}: {
  userId: number;
  onCreated: (created: CreatedKey) => void;
  onChanged: () => void;
  onCancel: () => void;
}) {
  const { keys } = useWords();
  const [idempotencyKey] = useState(newIdempotencyKey);
  return (
    <ActForm
      draft={`create key ${userId}`}
      verb={keys.create}
      act={(values) => createKey({ ...settingsOf(values), user_id: userId }, idempotencyKey)}
      onDone={onCreated}
      onChanged={onChanged}
      onCancel={onCancel}
    >
      <KeyFields />
    </ActForm>
  );
}
