import { useQuery } from '@tanstack/react-query';
import { KeyRound, Plus } from '../../ui/icons.tsx';
import { useState, type ReactNode } from 'react';
import { keysQuery, PAGE_SIZE, type KeysQuestion } from '../../api/keys.ts';
import { walletQuery } from '../../api/wallet.ts';
import { useMe } from '../../api/session.ts';
import type { Search } from '../../search.ts';
import { Button } from '../../ui/forms/button.tsx';
import { SelectFilter } from '../../ui/tables/select-filter.tsx';
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
import { useWords } from '../../words/words.ts';
import { NextStep } from '../first-steps/next-step.tsx';
import { CreateKeyDialog } from './create-key.tsx';
import { KeysTable, keyUseQuery } from './keys-table.tsx';
import { firstStepsQuery } from '../../api/usage.ts';
import type { Prefetch } from '../../page-module.ts';

const search = z.object({
  q: withDefault(z.string(), ''),
  status: optional(z.enum(['enabled', 'disabled'])),
  sort: withDefault(z.enum(['name', '-name', 'created_at', '-created_at']), '-created_at'),
  page: pageNumber,
  create: optional(z.literal('1')),
});

const questionOf = (
  userId: number,
  { q, status, sort, page }: SearchOf<typeof search>,
): KeysQuestion => ({
  user_id: userId,
  page,
  sort,
  ...(q !== '' && { q }),
  ...(status !== undefined && { status }),
});

export const prefetch: Prefetch = (ask, { me, search: raw }) => {
  ask(keysQuery(questionOf(me.id, search.parse(raw))));
  ask(keyUseQuery(me.id));
  ask(firstStepsQuery);
  ask(walletQuery(me.id));
};

export function Page() {
  const { keys } = useWords();
  const me = useMe();
  const [state, change] = useSearchState(search);
  const { q, status, sort, create } = state;
  const [isCreating, setCreating] = useState(create === '1');
  const question = questionOf(me.id, state);
  const createButton = <CreateButton onCreate={() => setCreating(true)} />;
  return (
    <Frame
      title={keys.title}
      purpose={keys.purpose}
      actions={createButton}
      bar={
        <KeysBar
          q={q}
          status={status}
          onChange={(patch) => change({ ...patch, page: undefined })}
        />
      }
    >
      <NextStep />
      <KeysPanel
        question={question}
        sort={sort}
        isFiltered={q !== '' || status !== undefined}
        createButton={createButton}
        onChange={change}
      />
      <CreateKeyDialog
        userId={me.id}
        isOpen={isCreating}
        onClose={() => {
          setCreating(false);
          change({ create: undefined });
        }}
      />
    </Frame>
  );
}

interface KeysBarProps extends Pick<SearchOf<typeof search>, 'q' | 'status'> {
  onChange: (patch: Search) => void;
}

function KeysBar({ q, status, onChange }: KeysBarProps) {
  const { keys } = useWords();
  return (
    <>
      <SearchBox label={keys.search} value={q} onSearch={(text) => onChange({ q: text })} />
      <StatusFilter value={status} onChange={(value) => onChange({ status: value })} />
    </>
  );
}

function CreateButton({ onCreate }: { onCreate: () => void }) {
  const { keys } = useWords();
  return (
    <Button look="primary" icon={<Plus aria-hidden className="size-4" />} onClick={onCreate}>
      {keys.create}
    </Button>
  );
}

interface KeysPanelProps {
  question: KeysQuestion;
  sort: string;
  isFiltered: boolean;
  createButton: ReactNode;
  onChange: (patch: Search) => void;
}

function KeysPanel({ question, sort, isFiltered, createButton, onChange }: KeysPanelProps) {
  const list = useQuery(keysQuery(question));
  return (
    <Panel isFlush>
      <Paged
        of={list}
        page={question.page ?? 1}
        pageSize={PAGE_SIZE}
        onPage={(value) => onChange({ page: value })}
      >
        {(rows) => (
          <KeysTable
            keys={rows}
            sort={sort}
            onSort={(value) => onChange({ sort: value })}
            empty={<NoKeys isFiltered={isFiltered} action={createButton} />}
          />
        )}
      </Paged>
    </Panel>
  );
}

function NoKeys({ isFiltered, action }: { isFiltered: boolean; action: ReactNode }) {
  const { keys } = useWords();
  return isFiltered ? (
    <EmptyState title={keys.noMatch} />
  ) : (
    <EmptyState icon={<KeyRound aria-hidden />} title={keys.emptyTitle} action={action}>
      {keys.emptyText}
    </EmptyState>
  );
}

function StatusFilter({
  value,
  onChange,
}: {
  value: string | undefined;
  onChange: (value: string) => void;
}) {
  const { keys, general } = useWords();
  return (
    <SelectFilter
      label={keys.status}
      value={value ?? ''}
      onChange={onChange}
      options={[
        { value: '', label: `${keys.status}: ${general.all}` },
        { value: 'enabled', label: keys.statuses.enabled },
        { value: 'disabled', label: keys.statuses.disabled },
      ]}
    />
  );
}
