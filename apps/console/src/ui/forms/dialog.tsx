import { AlertDialog } from '@base-ui/react/alert-dialog';
import { Dialog as Base } from '@base-ui/react/dialog';
import { X } from '../icons.tsx';
import { useCallback, useRef, useState, type ReactNode } from 'react';
import { useWords } from '../../words/words.ts';
import { Button } from './button.tsx';
import { DiscardContext } from './drafts.ts';

const VEIL = 'enters fixed inset-0 z-30 bg-veil';
const POPUP =
  'enters fixed top-[8dvh] left-1/2 z-30 flex max-h-[84dvh] w-[min(var(--dialog),calc(100vw-24px))] -translate-x-1/2 flex-col rounded-lg border border-line bg-raised shadow-float';
/** Matches the fields of a form. The first one takes the focus; the close button precedes it in the page. */
const FIELD = 'input:not([type=hidden], :disabled), select:not(:disabled), textarea:not(:disabled)';
/** The buttons of a form that is longer than the window stay in sight. */
const BODY =
  'overflow-y-auto px-5 py-4 outline-none [&_[data-actions]]:sticky [&_[data-actions]]:-bottom-4 [&_[data-actions]]:-mx-5 [&_[data-actions]]:-mb-4 [&_[data-actions]]:rounded-b-lg [&_[data-actions]]:bg-raised [&_[data-actions]]:px-5 [&_[data-actions]]:py-3';
const WIDTHS = { narrow: '[--dialog:440px]', wide: '[--dialog:720px]' } as const;

export interface DialogControls {
  close: () => void;
  /** From now on, closing asks first. */
  markChanged: () => void;
  /** Closing no longer asks. */
  markSaved: () => void;
}

export interface CloseQuestion {
  title: string;
  text: string;
  keep: string;
  discard: string;
}

export interface DialogProps {
  title: string;
  purpose?: ReactNode;
  isOpen: boolean;
  onClose: () => void;
  width?: keyof typeof WIDTHS;
  /** Is asked before the dialog closes, where closing loses more than what was entered. */
  question?: CloseQuestion | undefined;
  children: (controls: DialogControls) => ReactNode;
}

/** Shows a form or a view above the page. Escape closes it, focus returns to what opened it, and what was entered is not lost without a question. */
export function Dialog(props: DialogProps) {
  const { title, purpose, isOpen, onClose, width = 'narrow', question, children } = props;
  const [isChanged, setChanged] = useState(false);
  const [isAsking, setAsking] = useState(false);
  const body = useRef<HTMLDivElement>(null);
  const [drop, register] = useDiscard();
  const close = (): void => {
    drop?.();
    setChanged(false);
    setAsking(false);
    onClose();
  };
  const markChanged = (): void => setChanged(true);
  const askToClose = (): void => (isChanged || question ? setAsking(true) : close());
  return (
    <Base.Root open={isOpen} onOpenChange={(open) => !open && askToClose()}>
      <Base.Portal>
        <Base.Backdrop className={VEIL} />
        <Base.Popup
          className={`${POPUP} ${WIDTHS[width]}`}
          initialFocus={() => body.current?.querySelector<HTMLElement>(FIELD) ?? body.current}
        >
          <DialogHead title={title} purpose={purpose} />
          <div ref={body} tabIndex={-1} className={BODY}>
            <DiscardContext value={register}>
              {children({ close, markChanged, markSaved: () => setChanged(false) })}
            </DiscardContext>
          </div>
        </Base.Popup>
      </Base.Portal>
      <AskBeforeClose
        question={question}
        isOpen={isAsking}
        onKeep={() => setAsking(false)}
        onDiscard={close}
      />
    </Base.Root>
  );
}

/** Returns what gives up the draft of the dialog's form, and where the form registers it. */
function useDiscard() {
  const [drop, setDrop] = useState<() => unknown>();
  const register = useCallback((of: (() => unknown) | undefined) => setDrop(() => of), []);
  return [drop, register] as const;
}

function DialogHead({ title, purpose }: Pick<DialogProps, 'title' | 'purpose'>) {
  const { general } = useWords();
  return (
    <header className="flex items-start gap-3 border-b border-line px-5 py-3.5">
      <div className="min-w-0 flex-1">
        <Base.Title className="foreign text-lead font-semibold">{title}</Base.Title>
        {purpose !== undefined && (
          <Base.Description className="foreign text-table text-text-2">{purpose}</Base.Description>
        )}
      </div>
      <Base.Close
        aria-label={general.close}
        className="-mr-1.5 rounded-md p-1.5 text-text-3 hover:bg-sunken hover:text-text"
      >
        <X aria-hidden className="size-4" />
      </Base.Close>
    </header>
  );
}

function AskBeforeClose({
  question,
  isOpen,
  onKeep,
  onDiscard,
}: {
  question: CloseQuestion | undefined;
  isOpen: boolean;
  onKeep: () => void;
  onDiscard: () => void;
}) {
  const { general } = useWords();
  return (
    <AlertDialog.Root open={isOpen} onOpenChange={(open) => !open && onKeep()}>
      <AlertDialog.Portal>
        <AlertDialog.Backdrop className={VEIL} />
        <AlertDialog.Popup className={`${POPUP} ${WIDTHS.narrow} gap-3 p-5`}>
          <AlertDialog.Title className="text-lead font-semibold">
            {question?.title ?? general.unsaved}
          </AlertDialog.Title>
          <AlertDialog.Description className="text-text-2">
            {question?.text ?? general.unsavedDetail}
          </AlertDialog.Description>
          <div className="flex justify-end gap-2">
            <Button onClick={onKeep}>{question?.keep ?? general.keepEditing}</Button>
            <Button look="danger" onClick={onDiscard}>
              {question?.discard ?? general.discard}
            </Button>
          </div>
        </AlertDialog.Popup>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  );
}
