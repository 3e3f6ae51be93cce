import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { keysQuery, type Key } from '../../api/keys.ts';
import { subscriptionsQuery, type MyModel } from '../../api/models.ts';
import { requestsQuery } from '../../api/usage.ts';
import { entriesQuery } from '../../api/wallet.ts';
import { paths } from '../../paths.ts';
import { TextLink } from '../../ui/button.tsx';
import { Count } from '../../ui/figures.tsx';
import { Panel } from '../../ui/page.tsx';
import { EmptyState, Loaded } from '../../ui/states.tsx';
import { Table, type Column } from '../../ui/table.tsx';
import { Ago } from '../../ui/time.tsx';
import { useWords } from '../../words/words.ts';
import { KeyLimits } from '../keys/key-limits.tsx';
import { KeyStatus } from '../keys/key-status.tsx';
import { RequestsTable } from '../usage/requests-table.tsx';
import { EntriesTable } from '../wallet/entries-table.tsx';

const MONTH = { name: '30d', interval: 'day' } as const;

export function UserSubscriptions({ userId }: { userId: number }) {
  const { admin } = useWords();
  const { users } = admin;
  const found = useQuery(subscriptionsQuery(userId));
  const columns: Column<MyModel>[] = [
    { id: 'model', header: users.model, cell: ({ model }) => <Foreign>{model}</Foreign> },
    {
      id: 'tokens',
      header: users.tokensLeft,
      align: 'right',
      cell: ({ tokens }) => <Count count={tokens} isWhole />,
    },
    {
      id: 'held',
      header: users.held,
      align: 'right',
      cell: ({ held }) => (held === null ? '–' : <Count count={held} isWhole />),
    },
  ];
  return (
    <Panel isFlush>
      <Loaded of={found}>
        {(rows) => (
          <Table
            label={users.subscriptionsTab}
            columns={columns}
            rows={rows}
            rowId={({ id }) => id}
            empty={<EmptyState title={users.noSubscriptions} />}
          />
        )}
      </Loaded>
    </Panel>
  );
}

export function UserKeys({ userId }: { userId: number }) {
  const { admin, keys } = useWords();
  const found = useQuery(keysQuery({ user_id: userId }));
  const columns: Column<Key>[] = [
    {
      id: 'name',
      header: keys.name,
      cell: (key) => (
        <TextLink to={paths.key(key.id)} className="foreign">
          {key.name}
        </TextLink>
      ),
    },
    { id: 'status', header: keys.status, cell: (key) => <KeyStatus of={key} /> },
    { id: 'limits', header: keys.limits, from: 'sm', cell: (key) => <KeyLimits of={key} /> },
    {
      id: 'created',
      header: keys.created,
      from: 'md',
      cell: ({ created_at: at }) => <Ago at={at} />,
    },
  ];
  return (
    <Panel isFlush>
      <Loaded of={found}>
        {({ data }) => (
          <Table
            label={keys.title}
            columns={columns}
            rows={data}
            rowId={({ id }) => id}
            rowTo={({ id }) => paths.key(id)}
            empty={<EmptyState title={admin.users.noKeys} />}
          />
        )}
      </Loaded>
    </Panel>
  );
}

export function UserRequests({ userId }: { userId: number }) {
  const { usage } = useWords();
  const found = useQuery(requestsQuery({ user_id: userId }, MONTH));
  return (
    <Panel isFlush>
      <Loaded of={found}>
        {({ data }) => (
          <RequestsTable
            rows={data}
            show={['key', 'upstream', 'node']}
            empty={<EmptyState title={usage.emptyChart} />}
          />
        )}
      </Loaded>
    </Panel>
  );
}

export function UserLedger({ userId, currency }: { userId: number; currency: string }) {
  const { wallet } = useWords();
  const found = useQuery(entriesQuery({ user_id: userId }));
  return (
    <Panel isFlush>
      <Loaded of={found}>
        {({ data }) => (
          <EntriesTable
            rows={data}
            currency={currency}
            empty={<EmptyState title={wallet.emptyTitle} />}
          />
        )}
      </Loaded>
    </Panel>
  );
}

function Foreign({ children }: { children: ReactNode }) {
  return <span className="foreign">{children}</span>;
}
