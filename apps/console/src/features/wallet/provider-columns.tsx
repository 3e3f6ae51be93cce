import type { Payment, Payout } from '../../api/wallet.ts';
import { CopyText } from '../../ui/copy.tsx';
import { Money } from '../../ui/figures.tsx';
import type { Column } from '../../ui/tables/table.tsx';
import { Ago } from '../../ui/time/time.tsx';
import type { Words } from '../../words/words.ts';

/** Returns the columns that payments and payouts share. */
export function providerColumns<Row extends Payment | Payout>(
  { wallet }: Words,
  {
    status,
    done,
  }: { status: Column<Row>['cell']; done: { header: string; at: (row: Row) => string | null } },
): Column<Row>[] {
  return [
    { id: 'when', header: wallet.when, cell: ({ created_at: at }) => <Ago at={at} /> },
    { id: 'status', header: wallet.paymentStatus, cell: status },
    {
      id: 'provider',
      header: wallet.provider,
      from: 'sm',
      cell: ({ provider }) => <span className="foreign">{provider}</span>,
    },
    {
      id: 'reference',
      header: wallet.providerReference,
      from: 'md',
      cell: ({ provider_reference: reference }) =>
        reference === null ? '–' : <CopyText text={reference} label={wallet.providerReference} />,
    },
    {
      id: 'done',
      header: done.header,
      from: 'md',
      cell: (row) => {
        const at = done.at(row);
        return at === null ? '–' : <Ago at={at} />;
      },
    },
    {
      id: 'amount',
      header: wallet.amount,
      align: 'right',
      cell: ({ amount, currency }) => <Money amount={amount} currency={currency} />,
    },
  ];
}
