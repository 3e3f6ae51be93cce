import type { ReactNode } from 'react';
import { useMe } from '../../api/session.ts';
import type { WalletEntry } from '../../api/wallet.ts';
import { Amount } from '../../ui/figures.tsx';
import { fractionDigits } from '../../ui/format.ts';
import { Table, type Column } from '../../ui/tables/table.tsx';
import { Ago } from '../../ui/time/time.tsx';
import { useWords, type Words } from '../../words/words.ts';

/** Shows what moved the money, the model whose tokens it bought or gave back, and on narrow screens the note. */
function What({ of: { kind, model, note } }: { of: WalletEntry }) {
  const { wallet } = useWords();
  return (
    <>
      {wallet.kinds[kind]}
      {model !== null && <span className="foreign block text-tiny text-text-2">{model}</span>}
      {note !== null && (
        <span className="foreign line-clamp-2 text-tiny text-text-2 md:hidden">{note}</span>
      )}
    </>
  );
}

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
  return (
    <Table
      label={wallet.ledger}
      columns={useEntryColumns(rows, currency)}
      rows={rows}
      rowId={({ id }) => id}
      empty={empty}
    />
  );
}

export function useEntryColumns(
  rows: readonly WalletEntry[],
  currency: string,
): Column<WalletEntry>[] {
  const { wallet } = useWords();
  const me = useMe();
  const digits = Math.max(
    2,
    ...rows.flatMap((row) => [fractionDigits(row.amount), fractionDigits(row.balance_after)]),
  );
  return columnsOf(wallet, { currency, digits, meId: me.id });
}

interface EntryColumns {
  currency: string;
  /** Counts the digits of the fraction of each amount. */
  digits: number;
  /** Is the id of the account that views the table. */
  meId: number;
}

function columnsOf(
  wallet: Words['wallet'],
  { currency, digits, meId }: EntryColumns,
): Column<WalletEntry>[] {
  const doer = ({ actor_role: role, actor_user_id: id, actor_name: name }: WalletEntry): string =>
    id !== null && id === meId ? wallet.you : (name ?? wallet.actors[role]);
  return [
    {
      id: 'when',
      header: wallet.when,
      sort: 'created_at',
      cell: ({ created_at: at }) => <Ago at={at} />,
    },
    { id: 'what', header: wallet.what, cell: (row) => <What of={row} /> },
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
      cell: (row) => <span className="foreign text-text-2">{doer(row)}</span>,
    },
    ...amountColumns(wallet, currency, digits),
  ];
}

function amountColumns(
  wallet: Words['wallet'],
  currency: string,
  digits: number,
): Column<WalletEntry>[] {
  return [
    {
      id: 'amount',
      sort: 'amount',
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
}
