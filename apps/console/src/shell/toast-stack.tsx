import { Toast } from '@base-ui/react/toast';
import { CircleAlert, CircleCheck, X } from '../ui/icons.tsx';
import { useEffect, useEffectEvent } from 'react';
import { useWords } from '../words/words.ts';
import { onNotices, type Notice } from '../browser/notices.ts';

/** Shows notices at the corner of the window. */
export function ToastStack() {
  return (
    <Toast.Provider>
      <Toast.Portal>
        <Toast.Viewport className="fixed right-4 bottom-4 z-50 flex w-[min(360px,calc(100vw-32px))] flex-col gap-2">
          <ToastList />
        </Toast.Viewport>
      </Toast.Portal>
    </Toast.Provider>
  );
}

function ToastList() {
  const { toasts, add } = Toast.useToastManager();
  const { general } = useWords();
  const show = useEffectEvent(({ title, detail, isBad = false }: Notice) => {
    add({
      title,
      ...(detail !== undefined && { description: detail }),
      type: isBad ? 'bad' : 'good',
      priority: isBad ? 'high' : 'low',
      timeout: isBad ? 0 : 5_000,
    });
  });
  useEffect(() => onNotices((notice) => show(notice)), []);
  return toasts.map((toast) => (
    <Toast.Root
      key={toast.id}
      toast={toast}
      className="enters flex items-start gap-3 rounded-md border border-line bg-raised p-3 shadow-float"
    >
      {toast.type === 'bad' ? (
        <CircleAlert aria-hidden className="mt-0.5 size-4 shrink-0 text-bad" />
      ) : (
        <CircleCheck aria-hidden className="mt-0.5 size-4 shrink-0 text-good" />
      )}
      <Toast.Content className="min-w-0 flex-1">
        <Toast.Title className="font-medium" />
        <Toast.Description className="foreign text-table text-text-2" />
      </Toast.Content>
      <Toast.Close
        aria-label={general.close}
        className="-m-1 rounded-sm p-1 text-text-3 hover:text-text"
      >
        <X aria-hidden className="size-4" />
      </Toast.Close>
    </Toast.Root>
  ));
}
