import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { eraseUser, erasureQuery, type User } from '../../api/users.ts';
import { Button } from '../../ui/forms/button.tsx';
import { ConfirmDialog } from '../../ui/forms/confirm-dialog.tsx';
import { formatCount } from '../../ui/format.ts';
import { Facts } from '../../ui/page.tsx';
import { Loaded } from '../../ui/states.tsx';
import { useSpeech, useWords } from '../../words/words.ts';
import { useTypedName } from './typed-name.tsx';

/** Erases a deleted account; it is offered until no record names its person. */
export function EraseButton({ of: user }: { of: User }) {
  const { admin } = useWords();
  const [isOpen, setOpen] = useState(false);
  if (user.username === `erased-${user.id}`) return null;
  return (
    <>
      <Button size="small" onClick={() => setOpen(true)}>
        {admin.users.erase}
      </Button>
      {isOpen && <EraseUser of={user} onClose={() => setOpen(false)} />}
    </>
  );
}

function EraseUser({ of: user, onClose }: { of: User; onClose: () => void }) {
  const { words, locale } = useSpeech();
  const { users } = words.admin;
  const preview = useQuery(erasureQuery(user.id));
  const { blockedBy, nameField } = useTypedName(user);
  const total = (rows: readonly { rows: number }[]): string =>
    formatCount(
      rows.reduce((sum, { rows: count }) => sum + count, 0),
      locale,
    );
  return (
    <ConfirmDialog
      title={`${users.erase}: ${user.username}`}
      text={users.eraseText}
      verb={users.erase}
      isOpen
      onClose={onClose}
      act={() => eraseUser(user)}
      blockedBy={blockedBy}
      done={({ rows }) => users.erased(user.username, total(rows))}
    >
      <Loaded of={preview}>
        {({ rows }) => (
          <Facts
            facts={rows.map(({ table, rows: count }) => ({
              name: users.erasedTables[table] ?? table,
              value: formatCount(count, locale),
            }))}
          />
        )}
      </Loaded>
      {nameField}
    </ConfirmDialog>
  );
}
