import type { ReactNode } from 'react';
import { notify } from '../../browser/notices.ts';
import { Dialog } from './dialog.tsx';
import { ActForm, type FormValues } from './form.tsx';

interface ConfirmDialogProps<Answer> {
  title: string;
  text: ReactNode;
  verb: string;
  isOpen: boolean;
  onClose: () => void;
  act: (values: FormValues) => Promise<Answer>;
  done: (answer: Answer) => string;
  onDone?: (answer: Answer) => void | Promise<void>;
  /** Says why the act cannot be confirmed yet, e.g. because the name is not typed. */
  blockedBy?: string | undefined;
  children?: ReactNode;
}

/** Asks before an act that has consequences, and says them. */
export function ConfirmDialog<Answer>({
  title,
  text,
  verb,
  isOpen,
  onClose,
  act,
  done,
  onDone,
  blockedBy,
  children,
}: ConfirmDialogProps<Answer>) {
  return (
    <Dialog title={title} isOpen={isOpen} onClose={onClose}>
      {({ close }) => (
        <ActForm
          verb={verb}
          look="danger"
          act={act}
          onDone={async (answer) => {
            notify({ title: done(answer) });
            close();
            await onDone?.(answer);
          }}
          onCancel={close}
          blockedBy={blockedBy}
        >
          <p className="text-text-2">{text}</p>
          {children}
        </ActForm>
      )}
    </Dialog>
  );
}

interface FormDialogProps<Answer> {
  title: string;
  purpose?: ReactNode;
  verb: string;
  isOpen: boolean;
  onClose: () => void;
  act: (values: FormValues) => Promise<Answer>;
  done: (answer: Answer) => string;
  /** Names its draft where title and purpose do not. */
  draft?: string;
  children: ReactNode;
}

/** Shows a form in a dialog that is opened, saved and closed. */
export function FormDialog<Answer>(props: FormDialogProps<Answer>) {
  const { title, purpose, verb, isOpen, onClose, act, done, children } = props;
  const draft = props.draft ?? `${title} ${typeof purpose === 'string' ? purpose : ''}`;
  return (
    <Dialog title={title} purpose={purpose} isOpen={isOpen} onClose={onClose}>
      {({ close, markChanged }) => (
        <ActForm
          draft={draft}
          verb={verb}
          act={act}
          onDone={(answer) => {
            notify({ title: done(answer) });
            close();
          }}
          onChanged={markChanged}
          onCancel={close}
        >
          {children}
        </ActForm>
      )}
    </Dialog>
  );
}
