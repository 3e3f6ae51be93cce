import { useQuery } from '@tanstack/react-query';
import { UserPlus, Users } from 'lucide-react';
import { useState } from 'react';
import { moveUser, usersQuery, type User } from '../../api/users.ts';
import { ADMIN_PAGE_SIZE } from '../../api/admin.ts';
import { paths } from '../../paths.ts';
import type { Search } from '../../search.ts';
import { useAct } from '../../ui/act.ts';
import { Button, TextLink } from '../../ui/button.tsx';
import { SelectFilter } from '../../ui/field.tsx';
import { Page as Frame, Panel } from '../../ui/page.tsx';
import { Pager } from '../../ui/pager.tsx';
import { SearchBox } from '../../ui/search-box.tsx';
import { optional, pageNumber, useSearchState, withDefault, z } from '../../ui/search-state.ts';
import { EmptyState, Loaded } from '../../ui/states.tsx';
import { Table, type Column } from '../../ui/table.tsx';
import { Ago } from '../../ui/time.tsx';
import { useWords } from '../../words/words.ts';
import { InstallationCeilings } from './ceilings.tsx';
import { CreateUserDialog } from './one-time-password.tsx';
import { UserStatus } from './user-status.tsx';

const STATUSES = ['pending', 'active', 'rejected', 'frozen'] as const;
const search = z.object({
  q: withDefault(z.string(), ''),
  status: optional(z.enum(STATUSES)),
  page: pageNumber,
});

export function Page() {
  const { admin } = useWords();
  const { users } = admin;
  const [{ q, status, page }, change] = useSearchState(search);
  const list = useQuery(
    usersQuery({ page, ...(q !== '' && { q }), ...(status !== undefined && { status }) }),
  );
  const [isCreating, setCreating] = useState(false);
  const [hasCeilings, setCeilingsOpen] = useState(false);
  const isFiltered = q !== '' || status !== undefined;
  return (
    <Frame
      title={users.title}
      purpose={users.purpose}
      actions={
        <>
          <Button onClick={() => setCeilingsOpen(true)}>{users.ceilings}</Button>
          <Button
            look="primary"
            icon={<UserPlus aria-hidden className="size-4" />}
            onClick={() => setCreating(true)}
          >
            {users.add}
          </Button>
        </>
      }
      bar={<UsersBar q={q} status={status} onChange={change} />}
    >
      <Panel isFlush>
        <Loaded of={list}>
          {({ data, total }) => (
            <>
              <UsersTable
                rows={pendingFirst(data)}
                empty={
                  isFiltered ? (
                    <EmptyState title={users.noMatch} />
                  ) : (
                    <EmptyState icon={<Users aria-hidden />} title={users.empty}>
                      {users.emptyText}
                    </EmptyState>
                  )
                }
              />
              <Pager
                page={page}
                pageSize={ADMIN_PAGE_SIZE}
                total={total}
                onPage={(value) => change({ page: value })}
              />
            </>
          )}
        </Loaded>
      </Panel>
      {hasCeilings && <InstallationCeilings onClose={() => setCeilingsOpen(false)} />}
      <CreateUserDialog isOpen={isCreating} onClose={() => setCreating(false)} />
    </Frame>
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

/** Those who wait come first; the server's order stays otherwise. */
function pendingFirst(rows: readonly User[]): User[] {
  return rows.toSorted((a, b) => Number(b.status === 'pending') - Number(a.status === 'pending'));
}

function UsersTable({ rows, empty }: { rows: readonly User[]; empty: React.ReactNode }) {
  const { admin } = useWords();
  const { users } = admin;
  const columns: Column<User>[] = [
    {
      id: 'name',
      header: users.name,
      cell: (user) => (
        <TextLink to={paths.adminUser(user.id)} className="foreign">
          {user.username}
        </TextLink>
      ),
    },
    { id: 'status', header: users.status, cell: (user) => <UserStatus of={user} /> },
    { id: 'role', header: users.role, from: 'sm', cell: ({ role }) => users.roles[role] },
    {
      id: 'created',
      header: users.created,
      from: 'md',
      cell: ({ created_at: at }) => <Ago at={at} />,
    },
    { id: 'acts', header: '', align: 'right', cell: (user) => <PendingActs of={user} /> },
  ];
  return (
    <Table
      label={users.title}
      columns={columns}
      rows={rows}
      rowId={({ id }) => id}
      rowTo={({ id }) => paths.adminUser(id)}
      empty={empty}
    />
  );
}

function PendingActs({ of: { id, status } }: { of: User }) {
  const { admin } = useWords();
  const { users } = admin;
  const { isBusy, run } = useAct({
    act: (move: 'approve' | 'reject') => moveUser(id, move),
    done: (user) => users.done(user.username, users.statuses[user.status]),
  });
  if (status !== 'pending') return null;
  return (
    <span className="inline-flex gap-2">
      <Button size="small" look="primary" isBusy={isBusy} onClick={() => run('approve')}>
        {users.approve}
      </Button>
      <Button size="small" isBusy={isBusy} onClick={() => run('reject')}>
        {users.reject}
      </Button>
    </span>
  );
}
