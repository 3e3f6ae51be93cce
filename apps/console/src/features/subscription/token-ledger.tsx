import { useQuery } from '@tanstack/react-query';
import { Download } from '../../ui/icons.tsx';
import { exportAddress } from '../../api/client.ts';
import type { MyModel } from '../../api/models.ts';
import { useLive } from '../../api/events/stream.ts';
import {
  tokenEntriesQuery,
  type TokenEntry,
  type TokenEntryKind,
} from '../../api/subscription-history.ts';
import type { Search } from '../../search.ts';
import { CursorPager } from '../../ui/tables/cursor-pager.tsx';
import { DownloadLink } from '../../ui/download-link.tsx';
import { SelectFilter } from '../../ui/tables/select-filter.tsx';
import { Count } from '../../ui/figures.tsx';
import { Panel } from '../../ui/page.tsx';
import { EmptyState, Loaded } from '../../ui/states.tsx';
import { Table, type Column } from '../../ui/tables/table.tsx';
import { Ago } from '../../ui/time/time.tsx';
import { useWords, type Words } from '../../words/words.ts';

export const ENTRY_KINDS = ['credit', 'usage', 'withdrawal', 'reconciliation'] as const;

interface TokenLedgerProps {
  of: MyModel;
  kind: TokenEntryKind | undefined;
  cursor: string | undefined;
  onChange: (patch: Search) => void;
}

/** Shows every movement of the tokens of one subscription, with the balance after it. */
export function TokenLedger({ of: row, kind, cursor, onChange }: TokenLedgerProps) {
  const { subscription } = useWords();
  const filter = kind === undefined ? {} : { kind };
  const entries = useQuery({
    ...tokenEntriesQuery(row.id, { ...filter, ...(cursor !== undefined && { cursor }) }),
    ...useLive(),
  });
  return (
    <Panel
      title={subscription.tokenLedger}
      isFlush
      actions={
        <>
          <KindFilter
            value={kind}
            onChange={(value) => onChange({ kind: value, cursor: undefined })}
          />
          <LedgerExport of={row} filter={filter} />
        </>
      }
    >
      <Loaded of={entries}>
        {({ data, next_cursor: next }) => (
          <>
            <LedgerTable rows={data} />
            <CursorPager
              cursor={cursor}
              next={next}
              onCursor={(value) => onChange({ cursor: value })}
            />
          </>
        )}
      </Loaded>
    </Panel>
  );
}

function LedgerTable({ rows }: { rows: readonly TokenEntry[] }) {
  const words = useWords();
  const { subscription } = words;
  return (
    <Table
      label={subscription.tokenLedger}
      columns={columnsOf(words)}
      rows={rows}
      rowId={({ id }) => id}
      empty={<EmptyState title={subscription.tokenLedgerEmpty} />}
    />
  );
}

function LedgerExport({ of: row, filter }: { of: MyModel; filter: { kind?: TokenEntryKind } }) {
  const { general } = useWords();
  return (
    <DownloadLink
      href={exportAddress(`/admin-api/subscriptions/${row.id}/ledger`, filter)}
      icon={<Download aria-hidden className="size-4" />}
    >
      {general.exportCsv}
    </DownloadLink>
  );
}

interface KindFilterProps {
  value: TokenEntryKind | undefined;
  onChange: (kind: string) => void;
}

function KindFilter({ value: kind, onChange }: KindFilterProps) {
  const { subscription, wallet } = useWords();
  return (
    <SelectFilter
      label={wallet.what}
      value={kind ?? ''}
      onChange={onChange}
      options={[
        { value: '', label: wallet.all },
        ...ENTRY_KINDS.map((value) => ({ value, label: subscription.entryKinds[value] })),
      ]}
    />
  );
}

function columnsOf({ subscription, wallet }: Words): Column<TokenEntry>[] {
  return [
    { id: 'when', header: wallet.when, cell: ({ created_at: at }) => <Ago at={at} /> },
    { id: 'what', header: wallet.what, cell: ({ kind }) => subscription.entryKinds[kind] },
    {
      id: 'reference',
      header: subscription.reference,
      from: 'md',
      cell: ({ reference }) => <code className="foreign text-tiny text-text-3">{reference}</code>,
    },
    {
      id: 'tokens',
      header: subscription.movedTokens,
      align: 'right',
      cell: ({ tokens }) => (
        <span className={tokens > 0 ? 'text-good' : ''}>
          <Count count={tokens} isWhole />
        </span>
      ),
    },
    {
      id: 'balance',
      header: subscription.balanceAfter,
      align: 'right',
      cell: ({ balance_after: balance }) => <Count count={balance} isWhole />,
    },
  ];
}
