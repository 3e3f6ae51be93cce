import { useState } from 'react';
import { createNode } from '../../api/fleet.ts';
import { CopyMainButton } from '../../ui/copy.tsx';
import { Dialog } from '../../ui/forms/dialog.tsx';
import { TextField } from '../../ui/forms/field.tsx';
import { ActForm } from '../../ui/forms/form.tsx';
import { useWords } from '../../words/words.ts';

export function AddNodeDialog({ isOpen, onClose }: { isOpen: boolean; onClose: () => void }) {
  const { nodes } = useWords().admin;
  const [credential, setCredential] = useState<string>();
  return (
    <Dialog
      title={nodes.add}
      purpose={credential === undefined ? undefined : nodes.credential}
      isOpen={isOpen}
      onClose={() => {
        setCredential(undefined);
        onClose();
      }}
    >
      {({ close, markChanged, markSaved }) =>
        credential === undefined ? (
          <AddNodeForm
            onAdded={(added) => {
              markSaved();
              setCredential(added);
            }}
            onChanged={markChanged}
            onCancel={close}
          />
        ) : (
          <div className="flex flex-wrap items-center gap-3 rounded-md border border-line bg-sunken p-3">
            <code className="foreign min-w-0 flex-1 basis-64">{credential}</code>
            <CopyMainButton text={credential} label={nodes.copyCredential} />
          </div>
        )
      }
    </Dialog>
  );
}

interface AddNodeFormProps {
  onAdded: (credential: string) => void;
  onChanged: () => void;
  onCancel: () => void;
}

function AddNodeForm({ onAdded, onChanged, onCancel }: AddNodeFormProps) {
  const { admin, keys } = useWords();
  const { nodes } = admin;
  return (
    <ActForm
      verb={nodes.add}
      act={({ name = '' }) => createNode(name)}
      onDone={(created) => onAdded(created.credential ?? keys.secretGone)}
      onChanged={onChanged}
      onCancel={onCancel}
    >
      <TextField name="name" label={nodes.name} help={nodes.nameHelp} required autoComplete="off" />
    </ActForm>
  );
}
