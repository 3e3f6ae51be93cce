import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { Key } from '../../api/keys.ts';
import { useMe } from '../../api/session.ts';
import { statisticsQuery } from '../../api/usage.ts';
import { paths } from '../../paths.ts';
import { TextLink } from '../../ui/forms/button.tsx';
import { Count } from '../../ui/figures.tsx';
import { Table, type Column } from '../../ui/tables/table.tsx';
import { Ago } from '../../ui/time/time.tsx';
import { useWords, type Words } from '../../words/words.ts';
import { AllowedModels } from './allowed-models.tsx';
import { KeyFill, useKeyFills, type KeyFills } from './key-fill.tsx';
import { KeyStatus } from './key-status.tsx';

interface KeyUse {
  requests: number;
  charge: number;
}

export const keyUseQuery = (userId: number) =>
  statisticsQuery({ user_id: userId, group_by: 'key' }, { name: '24h', interval: 'hour' });

/** Returns what each key did in the last 24 hours. */
function useKeyUse(): ReadonlyMap<number, KeyUse> {
  const me = useMe();
  const { data } = useQuery(keyUseQuery(me.id));
  const use = new Map<number, KeyUse>();
  for (const { key_id: id, requests, charge } of data?.data ?? []) {
    if (id === null || id === undefined) continue;
    const sum = use.get(id) ?? { requests: 0, charge: 0 };
    use.set(id, { requests: sum.requests + requests, charge: sum.charge + charge });
  }
  return use;
}

export function KeysTable({
  keys: rows,
  sort,
  onSort,
  empty,
}: {
  keys: readonly Key[];
  sort: string;
  onSort: (sort: string) => void;
  empty: ReactNode;
}) {
  const words = useWords();
  const { keys } = words;
  const use = useKeyUse();
  const columns = columnsOf(words, use, useKeyFills(rows));
  return (
    <Table
      label={keys.title}
      columns={columns}
      rows={rows}
      rowId={({ id }) => id}
      rowTo={({ id }) => paths.key(id)}
      sort={sort}
      onSort={onSort}
      empty={empty}
    />
  );
}

function columnsOf(
  { keys }: Words,
  use: ReadonlyMap<number, KeyUse>,
  fills: KeyFills,
): Column<Key>[] {
  return [
    {
      id: 'name',
      header: keys.name,
      sort: 'name',
      cell: (key) => <KeyName of={key} />,
    },
    { id: 'status', header: keys.status, cell: (key) => <KeyStatus of={key} /> },
    {
      id: 'models',
      header: keys.models,
      from: 'md',
      cell: ({ allowed_models: allowed }) => <AllowedModels allowed={allowed} />,
    },
    {
      id: 'limits',
      header: keys.limits,
      from: 'lg',
      cell: (key) => <KeyFill of={key} fills={fills} />,
    },
    ...figureColumns(keys, use),
    ...timeColumns(keys),
  ];
}

function timeColumns(keys: Words['keys']): Column<Key>[] {
  return [
    {
      id: 'used',
      header: keys.lastUsed,
      align: 'right',
      from: 'sm',
      cell: ({ last_used_at: at }) => <LastUse at={at} />,
    },
    {
      id: 'created',
      header: keys.created,
      sort: 'created_at',
      align: 'right',
      from: 'md',
      cell: ({ created_at: at }) => <Ago at={at} />,
    },
  ];
}

function KeyName({ of: key }: { of: Key }) {
  return (
    <>
      <TextLink to={paths.key(key.id)} className="foreign">
        {key.name}
      </TextLink>
      <code className="block text-tiny text-text-3">{key.key_prefix}…</code>
    </>
  );
}

function LastUse({ at }: { at: string | null }) {
  const { keys } = useWords();
  return at === null ? <span className="text-text-3">{keys.notUsed}</span> : <Ago at={at} />;
}

/** Returns what the key did in the last 24 hours. */
function figureColumns(keys: Words['keys'], use: ReadonlyMap<number, KeyUse>): Column<Key>[] {
  return [
    {
      id: 'requests',
      header: keys.usage24,
      align: 'right',
      from: 'sm',
      cell: ({ id }) => <Count count={use.get(id)?.requests ?? 0} />,
    },
    {
      id: 'tokens',
      header: keys.tokens24,
      align: 'right',
      cell: ({ id }) => <Count count={use.get(id)?.charge ?? 0} />,
    },
  ];
}
