import { useQuery } from '@tanstack/react-query';
import { useEffect, useId, useState } from 'react';
import { userQuery, usersQuery } from '../../api/users.ts';
import { useWords } from '../../words/words.ts';

interface UserFilterProps {
  value: number | undefined;
  onChange: (id: number | undefined) => void;
}

/** Chooses one account among however many: its name is typed, and the server's matches are offered while typing. */
export function UserFilter({ value, onChange }: UserFilterProps) {
  const { usage } = useWords();
  const list = useId();
  const [typed, setTyped] = useState<string>();
  const { data: chosen } = useQuery({ ...userQuery(value ?? 0), enabled: value !== undefined });
  const { data: found } = useQuery({
    ...usersQuery({ q: typed ?? '' }),
    enabled: typed !== undefined && typed !== '',
  });
  const match = found?.data.find(({ username }) => username === typed)?.id;
  useEffect(() => {
    if (match !== undefined && match !== value) onChange(match);
    // A name is taken over once it is complete; what the page does with it is no reason to do so again.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [match]);
  return (
    <>
      <input
        type="search"
        aria-label={usage.user}
        placeholder={usage.allUsers}
        list={list}
        value={typed ?? (value === undefined ? '' : (chosen?.username ?? ''))}
        onChange={({ target }) => {
          setTyped(target.value);
          if (target.value === '' && value !== undefined) onChange(undefined);
        }}
        className="h-8 w-44 rounded-md border border-line-strong bg-surface px-2.5 text-body text-text placeholder:text-text-2 hover:border-text-3"
      />
      <datalist id={list}>
        {found?.data.map(({ id, username }) => (
          <option key={id} value={username} aria-label={username} />
        ))}
      </datalist>
    </>
  );
}
