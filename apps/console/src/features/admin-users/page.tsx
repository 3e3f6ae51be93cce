import { useQuery } from '@tanstack/react-query';
import { UserPlus, Users } from '../../ui/icons.tsx';
import { memo, useState } from 'react';
import { USER_ORDERS, usersQuery, type ListedUser, type UserOrder } from '../../api/users.ts';
import { ADMIN_PAGE_SIZE } from '../../api/admin.ts';
import { SLOWLY_LIVE } from '../../api/live.ts';
import { paths } from '../../paths.ts';
import type { Search } from '../../search.ts';
import { useActedRows } from '../../ui/tables/acted-rows.ts';
import { Button, TextLink } from '../../ui/forms/button.tsx';
import { SelectFilter } from '../../ui/tables/select-filter.tsx';
import { formatCount } from '../../ui/format.ts';
import { Page as Frame, Panel } from '../../ui/page.tsx';
import { Paged } from '../../ui/tables/paged.tsx';
import { SearchBox } from '../../ui/tables/search-box.tsx';
import {
  optional,
  pageNumber,
  useSearchState,
  withDefault,
  z,
  type SearchOf,
} from '../../ui/tables/search-state.ts';
import { EmptyState } from '../../ui/states.tsx';
import { Table, type Column } from '../../ui/tables/table.tsx';
import { useSpeech, useWords } from '../../words/words.ts';
import { BulkBar } from '../bulk/bulk-bar.tsx';
import { useChosen } from '../bulk/use-chosen.tsx';
import { InstallationCeilings } from './ceilings.tsx';
import { CreateUserDialog } from './one-time-password.tsx';
import type { Acted } from './pending-acts.tsx';
import { userColumns } from './user-columns.tsx';
import type { Prefetch } from '../../page-module.ts';

const STATUSES = ['pending', 'active', 'rejected', 'frozen', 'deleted'] as const;
const search = z.object({
  q: withDefault(z.string(), ''),
  status: optional(z.enum(STATUSES)),
  sort: withDefault(z.enum(USER_ORDERS), '-created_at'),
  page: pageNumber,
});

const idOf = ({ id }: ListedUser): number => id;
const pendingQuery = usersQuery({ status: 'pending' });

const questionOf = ({ q, status, sort, page }: SearchOf<typeof search>) => ({
  page,
  sort,
  ...(q !== '' && { q }),
  ...(status !== undefined && { status }),
});

const isNarrowed = ({ q, status }: SearchOf<typeof search>): boolean =>
  q !== '' || status !== undefined;

export const prefetch: Prefetch = (ask, { search: raw }) => {
  ask(usersQuery(questionOf(search.parse(raw))));
  ask(pendingQuery);
};

export function Page() {
  const { admin } = useWords();
  const { users } = admin;
  const [state, change] = useSearchState(search);
  const { q, status } = state;
  const [isCreating, setCreating] = useState(false);
  const [hasCeilings, setCeilingsOpen] = useState(false);
  return (
    <Frame
      title={users.title}
      purpose={users.purpose}
      actions={
        <UsersActs onCeilings={() => setCeilingsOpen(true)} onAdd={() => setCreating(true)} />
      }
      bar={<UsersBar q={q} status={status} onChange={change} />}
    >
      {!isNarrowed(state) && <PendingUsers />}
      <AllUsers state={state} onChange={change} />
      {hasCeilings && <InstallationCeilings onClose={() => setCeilingsOpen(false)} />}
      <CreateUserDialog isOpen={isCreating} onClose={() => setCreating(false)} />
    </Frame>
  );
}

interface AllUsersProps {
  state: SearchOf<typeof search>;
  onChange: (patch: Search) => void;
}

function AllUsers({ state, onChange }: AllUsersProps) {
  const list = useQuery(usersQuery(questionOf(state)));
  // Rows of the question before stay, undrawn, until the next ones are here.
  const [answered, setAnswered] = useState(state);
  if (!list.isPlaceholderData && answered !== state) setAnswered(state);
  return (
    <Panel isFlush>
      <Paged
        of={list}
        page={state.page}
        pageSize={ADMIN_PAGE_SIZE}
        onPage={(value) => onChange({ page: value })}
      >
        {(rows) => (
          <UsersList
            key={JSON.stringify(answered)}
            rows={rows}
            state={answered}
            onChange={onChange}
          />
        )}
      </Paged>
    </Panel>
  );
}

function UsersActs({ onCeilings, onAdd }: { onCeilings: () => void; onAdd: () => void }) {
  const { users } = useWords().admin;
  return (
    <>
      <Button onClick={onCeilings}>{users.ceilings}</Button>
      <Button look="primary" icon={<UserPlus aria-hidden className="size-4" />} onClick={onAdd}>
        {users.add}
      </Button>
    </>
  );
}

function UsersBar({
  q,
  status,
  onChange,
}: {
  q: string;
  status: (typeof STATUSES)[number] | undefined;
  onChange: (patch: Search) => void;
}) {
  const { admin, general } = useWords();
  const { users } = admin;
  return (
    <>
      <SearchBox
        label={users.search}
        value={q}
        onSearch={(text) => onChange({ q: text, page: undefined })}
      />
      <SelectFilter
        label={users.status}
        value={status ?? ''}
        onChange={(value) => onChange({ status: value, page: undefined })}
        options={[
          { value: '', label: `${users.status}: ${general.all}` },
          ...STATUSES.map((value) => ({ value, label: users.statuses[value] })),
        ]}
      />
    </>
  );
}

/** More are behind a link: the list itself stays in sight. */
const PENDING_SHOWN = 5;

/** Lists the accounts that wait for approval, wherever they are in the list. */
function PendingUsers() {
  const { words, locale } = useSpeech();
  const { overview } = words.admin;
  const { data } = useQuery({ ...pendingQuery, ...SLOWLY_LIVE });
  const { shown, ...acted } = useActedRows(data?.data.slice(0, PENDING_SHOWN) ?? [], idOf);
  if (!data || shown.length === 0) return null;
  const title = overview.pendingUsers(formatCount(data.total, locale));
  return (
    <Panel
      title={title}
      isFlush
      actions={
        data.total > PENDING_SHOWN && (
          <TextLink to={paths.adminUsers({ status: 'pending' })}>{overview.review}</TextLink>
        )
      }
    >
      <UsersTable label={title} acted={acted} rows={shown} />
    </Panel>
  );
}

const ACTS = ['users.approve', 'users.reject', 'users.freeze', 'users.unfreeze'] as const;

/** Lists all accounts, or those of a search, in which those who wait are approved where they are found. */
const UsersList = memo(function UsersList({
  rows,
  state,
  onChange,
}: AllUsersProps & { rows: readonly ListedUser[] }) {
  const { admin } = useWords();
  const { users } = admin;
  const isFiltered = isNarrowed(state);
  const { shown, ...acted } = useActedRows(rows, idOf);
  const { column, ...chosen } = useChosen<ListedUser>(({ username }) => username);
  const empty = isFiltered ? (
    <EmptyState title={users.noMatch} />
  ) : (
    <EmptyState icon={<Users aria-hidden />} title={users.empty}>
      {users.emptyText}
    </EmptyState>
  );
  return (
    <>
      <BulkBar {...chosen} acts={ACTS} shown={shown.map(idOf)} />
      <UsersTable
        label={users.title}
        rows={shown}
        chosen={column}
        sort={state.sort}
        onSort={(sort) => onChange({ sort, page: undefined })}
        empty={empty}
        {...(isFiltered && { acted })}
      />
    </>
  );
});

interface UsersTableProps {
  label: string;
  /** Is set where those who wait are approved: each account is in one place of a page. */
  acted?: Acted;
  /** Is the column in which accounts are chosen. */
  chosen?: Column<ListedUser>;
  rows: readonly ListedUser[];
  sort?: UserOrder;
  onSort?: (sort: string) => void;
  empty?: React.ReactNode;
}

function UsersTable({ label, acted, chosen, rows, sort, onSort, empty }: UsersTableProps) {
  return (
    <Table
      label={label}
      columns={[...(chosen ? [chosen] : []), ...userColumns(useSpeech(), rows, acted)]}
      rows={rows}
      rowId={({ id }) => id}
      {...(rows.every(({ status }) => status !== 'deleted') && {
        rowTo: ({ id }: ListedUser) => paths.adminUser(id),
      })}
      sort={sort}
      {...(onSort && { onSort })}
      empty={empty}
    />
  );
}
