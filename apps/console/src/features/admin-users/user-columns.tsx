import type { ListedUser } from '../../api/users.ts';
import { paths } from '../../paths.ts';
import { Amount } from '../../ui/figures.tsx';
import { TextLink } from '../../ui/forms/button.tsx';
import { fractionDigits } from '../../ui/format.ts';
import type { Column } from '../../ui/tables/table.tsx';
import { Ago } from '../../ui/time/time.tsx';
import type { Speech } from '../../words/words.ts';
import { AgoOrNever } from './ago-or-never.tsx';
import { EraseButton } from './erase-user.tsx';
import { FIGURE_WORDS } from './figure-words.ts';
import { PendingActs, type Acted } from './pending-acts.tsx';
import { UserStatus } from './user-status.tsx';

/** Shows accounts with what they have and use; with `acted`, those who wait are approved in their rows. */
export function userColumns(
  { words, language }: Speech,
  rows: readonly ListedUser[],
  acted: Acted | undefined,
): Column<ListedUser>[] {
  const { users } = words.admin;
  const figures = FIGURE_WORDS[language];
  return [
    { id: 'name', header: users.name, sort: 'username', cell: (user) => <Name of={user} /> },
    { id: 'status', header: users.status, cell: (user) => <UserStatus of={user} /> },
    { id: 'role', header: users.role, from: 'lg', cell: ({ role }) => users.roles[role] },
    moneyColumn(rows, { name: 'balance', header: figures.balance, from: 'sm' }),
    moneyColumn(rows, { name: 'spend_30d', header: figures.spend, from: 'md' }),
    {
      id: 'used',
      header: figures.lastUse,
      sort: 'last_used_at',
      from: 'sm',
      cell: ({ last_used_at: at }) => <AgoOrNever at={at} />,
    },
    {
      id: 'created',
      header: users.created,
      sort: 'created_at',
      from: 'lg',
      cell: ({ created_at: at }) => <Ago at={at} />,
    },
    ...(acted ? [actsColumn(acted)] : []),
  ];
}

function Name({ of: { id, username, status } }: { of: ListedUser }) {
  return status === 'deleted' ? (
    <span className="foreign">{username}</span>
  ) : (
    <TextLink to={paths.adminUser(id)} className="foreign">
      {username}
    </TextLink>
  );
}

interface MoneyColumn {
  name: 'balance' | 'spend_30d';
  header: string;
  from: 'sm' | 'md';
}

/** Amounts of all rows show as many places as the longest of them needs, so that their points stand below each other. */
function moneyColumn(
  rows: readonly ListedUser[],
  { name, header, from }: MoneyColumn,
): Column<ListedUser> {
  const digits = Math.max(0, ...rows.map((row) => fractionDigits(row[name])));
  return {
    id: name,
    header: `${header} (${rows[0]?.currency ?? ''})`,
    sort: name,
    from,
    align: 'right',
    cell: (row) => <Amount amount={row[name]} digits={digits} />,
  };
}

function actsColumn(acted: Acted): Column<ListedUser> {
  return {
    id: 'acts',
    header: '',
    align: 'right',
    cell: (user) =>
      user.status === 'deleted' ? (
        <EraseButton of={user} />
      ) : (
        <PendingActs of={user} acted={acted} />
      ),
  };
}
