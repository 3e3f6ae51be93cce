import { useQuery } from '@tanstack/react-query';
import { payoutsQuery, type Payout } from '../../api/wallet.ts';
import { Badge, type Tone } from '../../ui/badge.tsx';
import { CopyText } from '../../ui/copy.tsx';
import { Money } from '../../ui/figures.tsx';
import { Panel } from '../../ui/page.tsx';
import { Table, type Column } from '../../ui/table.tsx';
import { Ago } from '../../ui/time.tsx';
import { useWords, type Words } from '../../words/words.ts';

const TONES: Readonly<Record<Payout['status'], Tone>> = {
  pending: 'warn',
  paid: 'good',
  failed: 'bad',
};

/** What the payment provider pays back; nothing for the many accounts without. */
export function PayoutsPanel({ userId }: { userId: number }) {
  const words = useWords();
  const { wallet } = words;
  const { data: payouts } = useQuery(payoutsQuery(userId));
  if (!payouts || payouts.total === 0) return null;
  return (
    <Panel title={wallet.payouts} isFlush>
      <Table
        label={wallet.payouts}
        columns={columnsOf(words)}
        rows={payouts.data}
        rowId={({ id }) => id}
      />
    </Panel>
  );
}

function columnsOf({ wallet }: Words): Column<Payout>[] {
  return [
    { id: 'when', header: wallet.when, cell: ({ created_at: at }) => <Ago at={at} /> },
    {
      id: 'status',
      header: wallet.paymentStatus,
      cell: ({ status, failure }) => (
        <span className="flex flex-wrap items-center gap-2">
          <Badge tone={TONES[status]}>{wallet.payoutStatuses[status]}</Badge>
          {failure !== null && <span className="foreign text-text-2">{failure}</span>}
        </span>
      ),
    },
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
      id: 'settled',
      header: wallet.settledAt,
      from: 'md',
      cell: ({ settled_at: at }) => (at === null ? '–' : <Ago at={at} />),
    },
    {
      id: 'amount',
      header: wallet.amount,
      align: 'right',
      cell: ({ amount, currency }) => <Money amount={amount} currency={currency} />,
    },
  ];
}
