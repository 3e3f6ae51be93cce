import type { ReactNode } from 'react';
import type { UsageLog } from '../../api/usage.ts';
import { paths } from '../../paths.ts';
import { TextLink } from '../../ui/button.tsx';
import { Count, Duration } from '../../ui/figures.tsx';
import { Table, type Column } from '../../ui/table.tsx';
import { Ago } from '../../ui/time.tsx';
import { useWords } from '../../words/words.ts';
import { OutcomeBadge } from './outcome.tsx';

export type RequestColumn = 'key' | 'user' | 'upstream' | 'node';

/** Requests, newest first; each leads to its page. */
export function RequestsTable({
  rows,
  show = ['key'],
  empty,
}: {
  rows: readonly UsageLog[];
  show?: readonly RequestColumn[];
  empty: ReactNode;
}) {
  const { usage } = useWords();
  const named: Record<RequestColumn, Column<UsageLog>> = {
    key: {
      id: 'key',
      header: usage.key,
      from: 'md',
      cell: ({ key_name: name }) => <Name of={name} />,
    },
    user: {
      id: 'user',
      header: usage.user,
      from: 'sm',
      cell: ({ username }) => <Name of={username} />,
    },
    upstream: {
      id: 'upstream',
      header: usage.upstream,
      from: 'lg',
      cell: ({ upstream }) => <Name of={upstream} />,
    },
    node: { id: 'node', header: usage.node, from: 'lg', cell: ({ node }) => <Name of={node} /> },
  };
  const columns: Column<UsageLog>[] = [
    {
      id: 'when',
      header: usage.when,
      cell: ({ rid, started_at: at }) => (
        <TextLink to={paths.request(rid)}>
          <Ago at={at} />
        </TextLink>
      ),
    },
    { id: 'model', header: usage.model, cell: ({ model }) => <Name of={model} isMain /> },
    ...show.map((column) => named[column]),
    {
      id: 'outcome',
      header: usage.outcome,
      from: 'sm',
      cell: ({ outcome }) => <OutcomeBadge outcome={outcome} />,
    },
    {
      id: 'input',
      header: usage.input,
      align: 'right',
      from: 'lg',
      cell: (row) => <Tokens count={inputOf(row)} />,
    },
    {
      id: 'output',
      header: usage.output,
      align: 'right',
      from: 'lg',
      cell: ({ output_tokens: count }) => <Tokens count={count} />,
    },
    {
      id: 'charge',
      header: usage.chargeShort,
      align: 'right',
      cell: ({ charge }) => <Count count={charge} isWhole />,
    },
    {
      id: 'first',
      header: usage.firstToken,
      align: 'right',
      from: 'lg',
      cell: ({ first_token_ms: ms }) => <Duration ms={ms} />,
    },
    {
      id: 'duration',
      header: usage.duration,
      align: 'right',
      from: 'sm',
      cell: ({ duration_ms: ms }) => <Duration ms={ms} />,
    },
  ];
  return (
    <Table
      label={usage.list}
      columns={columns}
      rows={rows}
      rowId={({ rid }) => rid}
      rowTo={({ rid }) => paths.request(rid)}
      empty={empty}
    />
  );
}

function inputOf({
  input_tokens: input,
  cache_read_tokens: read,
  cache_write_tokens: write,
}: UsageLog) {
  return input === null ? null : input + (read ?? 0) + (write ?? 0);
}

function Tokens({ count }: { count: number | null }) {
  return count === null ? '–' : <Count count={count} isWhole />;
}

function Name({ of: name, isMain = false }: { of: string | null; isMain?: boolean }) {
  return (
    <span
      className={`foreign block max-w-28 truncate sm:max-w-48 ${isMain ? '' : 'text-text-2'}`}
      title={name ?? ''}
    >
      {name ?? '–'}
    </span>
  );
}
