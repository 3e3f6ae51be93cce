import { useQuery } from '@tanstack/react-query';
import { deleteKey, updateKey, type Key } from '../../api/keys.ts';
import { statisticsQuery } from '../../api/usage.ts';
import { notify } from '../../browser/notices.ts';
import { Dialog } from '../../ui/forms/dialog.tsx';
import { ActForm } from '../../ui/forms/form.tsx';
import { formatCount } from '../../ui/format.ts';
import { useSpeech, useWords } from '../../words/words.ts';
import { KeyFields, settingsOf } from './key-fields.tsx';
import { RotateKeyDialog } from './rotate-key.tsx';

export type KeyDialog = 'edit' | 'rotate' | 'delete';

/** Shows what is done with one key. */
export function KeyDialogs({
  of: key,
  open,
  onClose,
  onDeleted,
}: {
  of: Key;
  open: KeyDialog;
  onClose: () => void;
  onDeleted: () => void | Promise<void>;
}) {
  switch (open) {
    case 'edit':
      return <EditKeyDialog of={key} isOpen onClose={onClose} />;
    case 'rotate':
      return <RotateKeyDialog of={key} isOpen onClose={onClose} />;
    case 'delete':
      return <DeleteKeyDialog of={key} isOpen onClose={onClose} onDeleted={onDeleted} />;
  }
}

interface KeyDialogProps {
  of: Key;
  isOpen: boolean;
  onClose: () => void;
}

function EditKeyDialog({ of: key, isOpen, onClose }: KeyDialogProps) {
  const { keys, general } = useWords();
  return (
    <Dialog title={keys.edit} purpose={key.name} isOpen={isOpen} onClose={onClose}>
      {({ close, markChanged }) => (
        <ActForm
          verb={general.save}
          act={(values) => updateKey(key.id, settingsOf(values, key))}
          onDone={() => {
            notify({ title: keys.saved });
            close();
          }}
          onChanged={markChanged}
          onCancel={close}
        >
          <KeyFields of={key} />
        </ActForm>
      )}
    </Dialog>
  );
}

function DeleteKeyDialog({
  of: key,
  isOpen,
  onClose,
  onDeleted,
}: KeyDialogProps & { onDeleted: () => void | Promise<void> }) {
  const { words, locale } = useSpeech();
  const { keys } = words;
  const { data } = useQuery({
    ...statisticsQuery({ user_id: key.user_id, key_id: key.id }, { name: '24h', interval: 'hour' }),
    enabled: isOpen,
  });
  const requests = data?.data.reduce((sum, row) => sum + row.requests, 0);
  return (
    <Dialog title={keys.removeTitle(key.name)} isOpen={isOpen} onClose={onClose}>
      {({ close }) => (
        <ActForm
          verb={keys.remove}
          look="danger"
          act={() => deleteKey(key.id)}
          onDone={async () => {
            notify({ title: keys.removed(key.name) });
            close();
            await onDeleted();
          }}
          onCancel={close}
        >
          <p className="text-text-2">{keys.removeText}</p>
          {requests !== undefined && requests > 0 && (
            <p className="font-medium">{keys.removeUsage(formatCount(requests, locale))}</p>
          )}
        </ActForm>
      )}
    </Dialog>
  );
}
