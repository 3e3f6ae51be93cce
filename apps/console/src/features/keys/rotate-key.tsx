import { useState } from 'react';
import { newIdempotencyKey } from '../../api/client.ts';
import { rotateKey, type CreatedKey, type Key } from '../../api/keys.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { SelectField } from '../../ui/field.tsx';
import { ActForm } from '../../ui/form.tsx';
import { useWords } from '../../words/words.ts';
import { CreatedKeyView } from './create-key.tsx';

const OVERLAPS = ['0', '60', '1440', '10080'] as const;
const FIRST: (typeof OVERLAPS)[number] = '1440';

/** Another secret with the same rights; the old one stays good for a while, so that programs can change over one by one. */
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
  const [created, setCreated] = useState<CreatedKey>();
  return (
    <Dialog
      title={created ? keys.createdTitle : `${keys.rotate}: ${key.name}`}
      purpose={created ? keys.createdText : keys.rotateText}
      width={created ? 'wide' : 'narrow'}
      isOpen={isOpen}
      onClose={() => {
        setCreated(undefined);
        onClose();
      }}
    >
      {({ close }) =>
        created ? (
          <CreatedKeyView created={created} onDone={close} />
        ) : (
          <RotateForm of={key} onDone={setCreated} onCancel={close} />
        )
      }
    </Dialog>
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
