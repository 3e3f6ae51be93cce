import { useState } from 'react';
import { newIdempotencyKey } from '../../api/client.ts';
import { rotateKey, type CreatedKey, type Key } from '../../api/keys.ts';
import { SelectField } from '../../ui/forms/field.tsx';
import { ActForm } from '../../ui/forms/form.tsx';
import { useWords } from '../../words/words.ts';
import { KeySecretDialog } from './key-secret-dialog.tsx';

const OVERLAPS = ['0', '60', '1440', '10080'] as const;
const FIRST: (typeof OVERLAPS)[number] = '1440';

/** Makes another secret with the same rights; the old one stays valid for a while, so that programs can change over one by one. */
export function RotateKeyDialog({
  of: key,
  isOpen,
  onClose,
}: {
  of: Key;
  isOpen: boolean;
  onClose: () => void;
}) {
  const { keys } = useWords();
  return (
    <KeySecretDialog
      title={`${keys.rotate}: ${key.name}`}
      purpose={keys.rotateText}
      isOpen={isOpen}
      onClose={onClose}
    >
      {({ close }, onCreated) => <RotateForm of={key} onDone={onCreated} onCancel={close} />}
    </KeySecretDialog>
  );
}

function RotateForm({
  of: key,
  onDone,
  onCancel,
}: {
  of: Key;
  onDone: (created: CreatedKey) => void;
  onCancel: () => void;
}) {
  const { keys } = useWords();
  const [idempotencyKey] = useState(newIdempotencyKey);
  return (
    <ActForm
      verb={keys.rotate}
      act={({ overlap = FIRST }) => rotateKey(key.id, Number(overlap), idempotencyKey)}
      onDone={onDone}
      onCancel={onCancel}
    >
      <SelectField
        name="overlap"
        label={keys.overlap}
        defaultValue={FIRST}
        options={OVERLAPS.map((value) => ({ value, label: keys.overlaps[value] }))}
      />
    </ActForm>
  );
}
