import { useState, type ReactNode } from 'react';
import type { User } from '../../api/users.ts';
import { TextField } from '../../ui/forms/field.tsx';
import { useWords } from '../../words/words.ts';

/** Returns a field that asks for the account's name, and the reason that blocks the act until it is typed. */
export function useTypedName({ username }: Pick<User, 'username'>): {
  blockedBy: string | undefined;
  nameField: ReactNode;
} {
  const { users } = useWords().admin;
  const [typed, setTyped] = useState('');
  return {
    blockedBy: typed === username ? undefined : users.typeName(username),
    nameField: (
      <TextField
        name="confirmation"
        label={users.typeName(username)}
        autoComplete="off"
        onChange={(event) => setTyped(event.currentTarget.value)}
      />
    ),
  };
}
