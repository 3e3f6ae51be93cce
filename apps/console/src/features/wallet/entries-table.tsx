import type { ReactNode } from 'react';
import { useMe } from '../../api/session.ts';
import type { WalletEntry } from '../../api/wallet.ts';
import { Amount } from '../../ui/figures.tsx';
import { fractionDigits } from '../../ui/format.ts';
import { Table, type Column } from '../../ui/table.tsx';
import { Ago } from '../../ui/time.tsx';
import { useWords } from '../../words/words.ts';

/** Movements of a wallet, newest first, with the balance after each; points stand below each other. */
export function EntriesTable({
  rows,
  currency = '',
  empty,
}: {
  rows: readonly WalletEntry[];
  currency?: string;
  empty: ReactNode;
}) {
  const { wallet } = useWords();
  const me = useMe();
  const digits = Math.max(
    2,
    ...rows.flatMap((row) => [fractionDigits(row.amount), fractionDigits(row.balance_after)]),
  );
  const doer = ({ actor_user_id: actor }: WalletEntry): string => {
    if (actor === null) return wallet.system;
    return actor === me.id ? wallet.you : wallet.administrator;
  };
  const columns: Column<WalletEntry>[] = [
    { id: 'when', header: wallet.when, cell: ({ created_at: at }) => <Ago at={at} /> },
    { id: 'what', header: wallet.what, cell: ({ kind }) => wallet.kinds[kind] },
    {
      id: 'note',
      header: wallet.note,
      from: 'md',
      cell: ({ note }) => <span className="foreign line-clamp-2 text-text-2">{note ?? ''}</span>,
    },
    {
      id: 'by',
      header: wallet.by,
      from: 'sm',
      cell: (row) => <span className="text-text-2">{doer(row)}</span>,
    },
    {
      id: 'amount',
      header: currency === '' ? wallet.amount : wallet.amountIn(currency),
      align: 'right',
      cell: ({ amount }) => (
        <span className={amount.startsWith('-') ? '' : 'text-good'}>
          <Amount amount={amount} digits={digits} />
        </span>
      ),
    },
    {
      id: 'balance',
      from: 'sm',
      header: currency === '' ? wallet.balance : wallet.balanceIn(currency),
      align: 'right',
      cell: ({ balance_after: balance }) => <Amount amount={balance} digits={digits} />,
    },
  ];
  return (
    <Table
      label={wallet.ledger}
      columns={columns}
      rows={rows}
      rowId={({ id }) => id}
      empty={empty}
    />
  );
}
