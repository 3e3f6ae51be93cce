import { useQuery } from '@tanstack/react-query';
import {
  disableMadeByToken,
  madeByTokenQuery,
  revokeAccessToken,
  type AccessToken,
} from '../../api/account.ts';
import { ConfirmDialog } from '../../ui/forms/confirm-dialog.tsx';
import { CheckField } from '../../ui/forms/field.tsx';
import { useWords } from '../../words/words.ts';

/** Ends a token, and on request what it made. */
export function RevokeTokenDialog({
  of: token,
  onClose,
  onRevoked,
}: {
  of: AccessToken;
  onClose: () => void;
  onRevoked: () => void;
}) {
  const { settings } = useWords();
  const revoke = async ({ disables }: Readonly<Record<string, string>>): Promise<number> => {
    await revokeAccessToken(token.id);
    return disables === 'on' ? (await disableMadeByToken(token.id)).left.length : 0;
  };
  return (
    <ConfirmDialog
      title={settings.revokeTitle(token.name)}
      text={settings.revokeText}
      verb={settings.revoke}
      isOpen
      onClose={onClose}
      act={revoke}
      done={(left) =>
        left === 0 ? settings.revoked(token.name) : settings.disableLeft(String(left))
      }
      onDone={onRevoked}
    >
      <WhatItMade id={token.id} />
    </ConfirmDialog>
  );
}

function WhatItMade({ id }: { id: number }) {
  const { settings } = useWords();
  const { data } = useQuery(madeByTokenQuery(id));
  const made = data?.data.filter(({ state }) => state !== 'deleted') ?? [];
  if (made.length === 0) return null;
  const names = made.map((row) => row.name ?? `${row.kind} ${row.id}`);
  return (
    <>
      <p className="foreign text-text-2">
        {settings.madeByToken(
          [...names, ...(data?.has_more ? [settings.madeMore] : [])].join(', '),
        )}
      </p>
      <CheckField name="disables" label={settings.disableMade} />
    </>
  );
}
