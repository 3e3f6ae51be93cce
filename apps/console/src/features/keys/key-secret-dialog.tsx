import { useQuery } from '@tanstack/react-query';
import { useEffect, useState, type ReactNode } from 'react';
import type { CreatedKey } from '../../api/keys.ts';
import { subscriptionsQuery } from '../../api/models.ts';
import { useLive } from '../../api/events/stream.ts';
import { requestsQuery } from '../../api/usage.ts';
import { paths } from '../../paths.ts';
import { Button, TextLink } from '../../ui/forms/button.tsx';
import { CopyMainButton } from '../../ui/copy.tsx';
import { Dialog, type DialogControls } from '../../ui/forms/dialog.tsx';
import { CircleCheck } from '../../ui/icons.tsx';
import { useWords } from '../../words/words.ts';
import { SnippetTabs } from './snippet-tabs.tsx';

/** Shows a form that makes a secret, then the secret, once. */
export function KeySecretDialog({
  title,
  purpose,
  isOpen,
  onClose,
  children,
}: {
  title: string;
  purpose?: string;
  isOpen: boolean;
  onClose: () => void;
  children: (dialog: DialogControls, onCreated: (created: CreatedKey) => void) => ReactNode;
}) {
  const { keys } = useWords();
  const [created, setCreated] = useState<CreatedKey>();
  return (
    <Dialog
      title={created ? keys.createdTitle : title}
      purpose={created ? keys.createdText : purpose}
      width={created ? 'wide' : 'narrow'}
      isOpen={isOpen}
      question={created?.key ? keys.leaveSecret : undefined}
      onClose={() => {
        setCreated(undefined);
        onClose();
      }}
    >
      {(dialog) =>
        created ? (
          <CreatedKeyView created={created} onDone={dialog.close} />
        ) : (
          children(dialog, (answer) => {
            dialog.markSaved();
            setCreated(answer);
          })
        )
      }
    </Dialog>
  );
}

/** Shows the secret once, with snippets that use it, and the first call as it arrives. */
function CreatedKeyView({ created, onDone }: { created: CreatedKey; onDone: () => void }) {
  const { keys } = useWords();
  // The secret is null only when the same form is answered a second time: a secret is never stored for a repeat.
  const secret = created.key ?? keys.secretGone;
  useAskBeforeUnload(created.key !== null);
  const { data: subscriptions } = useQuery(subscriptionsQuery(created.user_id));
  const allowed = created.allowed_models.split(',')[0];
  const model =
    allowed !== undefined && allowed !== '' && !allowed.includes('*')
      ? allowed
      : subscriptions?.[0]?.model;
  return (
    <div className="flex flex-col gap-4">
      <div className="flex flex-wrap items-center gap-3 rounded-md border border-line bg-sunken p-3">
        <code className="foreign min-w-0 flex-1 basis-64" data-testid="secret">
          {secret}
        </code>
        <CopyMainButton text={secret} label={keys.copyKey} />
      </div>
      <SnippetTabs secret={secret} model={model} />
      <div className="flex flex-wrap items-center justify-between gap-3 border-t border-line pt-4">
        <FirstCall userId={created.user_id} keyId={created.id} onLeave={onDone} />
        <Button onClick={onDone}>{keys.done}</Button>
      </div>
    </div>
  );
}

/** Notices the first call with a new key by itself. */
function FirstCall({
  userId,
  keyId,
  onLeave,
}: {
  userId: number;
  keyId: number;
  onLeave?: () => void;
}) {
  const { keys } = useWords();
  const { data } = useQuery({
    ...requestsQuery(
      { user_id: userId, key_id: keyId, page_size: 1 },
      { name: '24h', interval: 'hour' },
    ),
    ...useLive(),
  });
  const first = data?.data[0];
  return (
    <p role="status" className="flex flex-wrap items-center gap-2 text-text-2">
      {first ? (
        <>
          <CircleCheck aria-hidden className="size-4 text-good" />
          {keys.firstCallSeen}
          {/* Leaving the dialog by its link closes it. */}
          {/* oxlint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/no-static-element-interactions */}
          <span onClick={onLeave}>
            <TextLink to={paths.request(first.rid)}>{keys.seeRequest}</TextLink>
          </span>
        </>
      ) : (
        <>
          <span aria-hidden className="size-2 animate-pulse rounded-full bg-accent" />
          {keys.firstCall}
        </>
      )}
    </p>
  );
}

/** The browser asks before it leaves or loads the page again. */
function useAskBeforeUnload(isAsking: boolean): void {
  useEffect(() => {
    if (!isAsking) return undefined;
    const ask = (event: BeforeUnloadEvent): void => event.preventDefault();
    addEventListener('beforeunload', ask);
    return () => removeEventListener('beforeunload', ask);
  }, [isAsking]);
}
