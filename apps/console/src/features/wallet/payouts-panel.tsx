import { useQuery } from '@tanstack/react-query';
import { payoutsQuery, type Payout } from '../../api/wallet.ts';
import { Badge, type Tone } from '../../ui/badge.tsx';
import { Panel } from '../../ui/page.tsx';
import { Table, type Column } from '../../ui/tables/table.tsx';
import { useWords, type Words } from '../../words/words.ts';
import { providerColumns } from './provider-columns.tsx';

const TONES: Readonly<Record<Payout['status'], Tone>> = {
  pending: 'warn',
  paid: 'good',
  failed: 'bad',
};

/** Shows what the payment provider pays back; nothing for the many accounts without. */
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

function columnsOf(words: Words): Column<Payout>[] {
  const { wallet } = words;
  return providerColumns(words, {
    status: ({ status, failure }) => (
      <span className="flex flex-wrap items-center gap-2">
        <Badge tone={TONES[status]}>{wallet.payoutStatuses[status]}</Badge>
        {failure !== null && <span className="foreign text-text-2">{failure}</span>}
      </span>
    ),
    done: { header: wallet.settledAt, at: ({ settled_at: at }) => at },
  });
}
