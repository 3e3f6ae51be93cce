import type { ReactNode } from 'react';
import { sideTokens } from '../../api/tables.ts';
import type { UsageLog } from '../../api/usage.ts';
import { TextLink } from '../../ui/forms/button.tsx';
import { Count, Duration } from '../../ui/figures.tsx';
import { Table, type Column } from '../../ui/tables/table.tsx';
import { Ago } from '../../ui/time/time.tsx';
import { useWords, type Words } from '../../words/words.ts';
import { OutcomeBadge } from './outcome.tsx';
import { useRequestPath } from './request-path.ts';

export type RequestColumn = 'key' | 'user' | 'upstream' | 'node';
const OF_ACCOUNT: readonly RequestColumn[] = ['key'];

/** Lists requests, newest first; each leads to its page. */
export function RequestsTable({
  rows,
  show = OF_ACCOUNT,
  empty,
}: {
  rows: readonly UsageLog[];
  show?: readonly RequestColumn[];
  empty: ReactNode;
}) {
  const words = useWords();
  const named = namedColumns(words);
  const requestPath = useRequestPath();
  return (
    <Table
      label={words.usage.list}
      columns={[
        ...firstColumns(words, requestPath),
        ...show.map((column) => named[column]),
        ...figureColumns(words),
      ]}
      rows={rows}
      rowId={({ rid }) => rid}
      rowTo={({ rid }) => requestPath(rid)}
      empty={empty}
    />
  );
}

function firstColumns({ usage }: Words, requestPath: (rid: string) => string): Column<UsageLog>[] {
  return [
    {
      id: 'when',
      header: usage.when,
      cell: ({ rid, started_at: at }) => (
        <TextLink to={requestPath(rid)}>
          <Ago at={at} />
        </TextLink>
      ),
    },
    {
      id: 'model',
      header: usage.model,
      cell: (row) => (
        <>
          <Name of={row.model} isMain />
          {row.outcome !== 'completed' && (
            // The column of outcomes is not shown on narrow screens, what went wrong is.
            <span className="sm:hidden">
              <OutcomeBadge of={row} />
            </span>
          )}
        </>
      ),
    },
  ];
}

function namedColumns({ usage }: Words): Record<RequestColumn, Column<UsageLog>> {
  return {
    key: { id: 'key', header: usage.key, from: 'md', cell: (row) => <Name of={row.key_name} /> },
    user: { id: 'user', header: usage.user, from: 'sm', cell: (row) => <Name of={row.username} /> },
    upstream: {
      id: 'upstream',
      header: usage.upstream,
      from: 'lg',
      cell: ({ upstream }) => <Name of={upstream} />,
    },
    node: { id: 'node', header: usage.node, from: 'lg', cell: ({ node }) => <Name of={node} /> },
  };
}

function figureColumns({ usage }: Words): Column<UsageLog>[] {
  const right = { align: 'right', from: 'lg' } as const;
  const ofSide = (side: 'prompt' | 'output', header: string): Column<UsageLog> => ({
    ...right,
    id: side,
    header,
    cell: (row) => <Tokens of={row} side={side} />,
  });
  return [
    {
      id: 'outcome',
      header: usage.outcome,
      from: 'sm',
      cell: (row) => <OutcomeBadge of={row} />,
    },
    ofSide('prompt', usage.input),
    ofSide('output', usage.output),
    {
      id: 'charge',
      header: usage.chargeShort,
      align: 'right',
      cell: ({ charge }) => <Count count={charge} isWhole />,
    },
    {
      ...right,
      id: 'first',
      header: usage.firstToken,
      cell: ({ first_token_ms: ms }) => <Duration ms={ms} />,
    },
    {
      ...right,
      id: 'duration',
      header: usage.duration,
      from: 'sm',
      cell: ({ duration_ms: ms }) => <Duration ms={ms} />,
    },
  ];
}

function Tokens({ of: row, side }: { of: UsageLog; side: 'prompt' | 'output' }) {
  const count = sideTokens(row, side);
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
