import { useQuery } from '@tanstack/react-query';
import { Plus } from '../../ui/icons.tsx';
import { lazy, Suspense, useState } from 'react';
import { KEY_SORTS, keysQuery, PAGE_SIZE, type Key } from '../../api/keys.ts';
import { entriesQuery, ENTRIES_PAGE_SIZE, ENTRY_SORTS } from '../../api/wallet.ts';
import { paths } from '../../paths.ts';
import { Button, TextLink } from '../../ui/forms/button.tsx';
import { Panel } from '../../ui/page.tsx';
import { EmptyState } from '../../ui/states.tsx';
import { ListTable, useListState, type ListState } from '../../ui/tables/list-table.tsx';
import type { Column } from '../../ui/tables/table.tsx';
import { Ago } from '../../ui/time/time.tsx';
import { useSpeech, useWords, type Words } from '../../words/words.ts';
import { BulkBar } from '../bulk/bulk-bar.tsx';
import { useChosen } from '../bulk/use-chosen.tsx';
import { FIGURE_WORDS } from './figure-words.ts';
import { CreateKeyDialog } from '../keys/create-key.tsx';
import { KeyFill, useKeyFills, type KeyFills } from '../keys/key-fill.tsx';
import { KeyStatus } from '../keys/key-status.tsx';
import type { RequestsChoice } from '../usage/requests-section.tsx';
import { useEntryColumns } from '../wallet/entries-table.tsx';

const MONTH = { name: '30d', interval: 'day' } as const;
// The names of all actions are for this tab alone.
const ActivityPanel = lazy(async () => ({
  default: (await import('../admin-activity/activity-panel.tsx')).ActivityPanel,
}));

const ACTS = ['keys.enable', 'keys.disable', 'keys.delete'] as const;

export function UserKeys({ userId }: { userId: number }) {
  const { admin, keys } = useWords();
  const [state, change] = useListState(KEY_SORTS);
  const found = useQuery(keysQuery({ user_id: userId, ...asked(state) }));
  const fills = useKeyFills(found.data?.data ?? []);
  const { column, ...chosen } = useChosen<Key>(({ name }) => name);
  const [isCreating, setCreating] = useState(false);
  return (
    <Panel
      title={keys.title}
      isFlush
      actions={
        <Button
          size="small"
          icon={<Plus aria-hidden className="size-4" />}
          onClick={() => setCreating(true)}
        >
          {keys.create}
        </Button>
      }
    >
      <BulkBar {...chosen} acts={ACTS} shown={found.data?.data.map(({ id }) => id) ?? []} />
      <ListTable
        label={keys.title}
        of={found}
        state={state}
        onChange={change}
        pageSize={PAGE_SIZE}
        search={keys.search}
        columns={[column, ...keyColumns(keys, fills)]}
        rowId={({ id }) => id}
        rowTo={({ id }) => paths.adminKey(id)}
        empty={<EmptyState title={admin.users.noKeys} />}
        noMatch={<EmptyState title={keys.noMatch} />}
      />
      <CreateKeyDialog userId={userId} isOpen={isCreating} onClose={() => setCreating(false)} />
    </Panel>
  );
}

function keyColumns(keys: Words['keys'], fills: KeyFills): Column<Key>[] {
  return [
    {
      id: 'name',
      header: keys.name,
      sort: 'name',
      cell: (key) => (
        <TextLink to={paths.adminKey(key.id)} className="foreign">
          {key.name}
        </TextLink>
      ),
    },
    { id: 'status', header: keys.status, cell: (key) => <KeyStatus of={key} /> },
    {
      id: 'limits',
      header: keys.limits,
      from: 'sm',
      cell: (key) => <KeyFill of={key} fills={fills} />,
    },
    {
      id: 'used',
      header: keys.lastUsed,
      from: 'sm',
      cell: ({ last_used_at: at }) => (at === null ? keys.notUsed : <Ago at={at} />),
    },
    {
      id: 'created',
      header: keys.created,
      sort: 'created_at',
      from: 'md',
      cell: ({ created_at: at }) => <Ago at={at} />,
    },
  ];
}

// The page opens with another tab.
const RequestsSection = lazy(async () => ({
  default: (await import('../usage/requests-section.tsx')).RequestsSection,
}));

const CHOSEN: RequestsChoice = { list: 'all' };

export function UserRequests({ userId }: { userId: number }) {
  const { admin } = useWords();
  const [choice, setChoice] = useState(CHOSEN);
  return (
    <>
      <Suspense fallback={null}>
        <RequestsSection
          filter={{ user_id: userId }}
          range={MONTH}
          choice={choice}
          onChange={(patch) => setChoice({ ...choice, ...(patch as Partial<RequestsChoice>) })}
          show={['key', 'upstream', 'node']}
        />
      </Suspense>
      <p className="text-table">
        <TextLink to={paths.adminUsage({ user_id: userId })}>{admin.overview.allRequests}</TextLink>
      </p>
    </>
  );
}

export function UserLedger({ userId, currency }: { userId: number; currency: string }) {
  const { wallet } = useWords();
  const [state, change] = useListState(ENTRY_SORTS);
  const found = useQuery(entriesQuery({ user_id: userId, ...asked(state) }));
  const columns = useEntryColumns(found.data?.data ?? [], currency);
  return (
    <Panel isFlush>
      <ListTable
        label={wallet.ledger}
        of={found}
        state={state}
        onChange={change}
        pageSize={ENTRIES_PAGE_SIZE}
        search={wallet.search}
        columns={columns}
        rowId={({ id }) => id}
        empty={<EmptyState title={wallet.emptyTitle} />}
        noMatch={<EmptyState title={wallet.noMatch} />}
      />
    </Panel>
  );
}

/** Lists what happened to the account itself: who approved, changed or froze it. */
export function UserEvents({ userId }: { userId: number }) {
  const { events, noEvents } = FIGURE_WORDS[useSpeech().language];
  return (
    <Suspense fallback={null}>
      <ActivityPanel
        title={events}
        which={{ target_kind: 'user', target_id: String(userId) }}
        empty={noEvents}
      />
    </Suspense>
  );
}

/** Returns the search for the server, which refuses an empty one. */
function asked<Sort extends string>({ q, ...state }: ListState<Sort>) {
  return q === '' ? state : { ...state, q };
}
