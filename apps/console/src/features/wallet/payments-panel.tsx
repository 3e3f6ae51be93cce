import { useQuery } from '@tanstack/react-query';
import { CreditCard } from '../../ui/icons.tsx';
import { ENTRIES_PAGE_SIZE, paymentsQuery, type Payment } from '../../api/wallet.ts';
import { Badge, type Tone } from '../../ui/badge.tsx';
import { Panel } from '../../ui/page.tsx';
import { Paged } from '../../ui/tables/paged.tsx';
import { EmptyState } from '../../ui/states.tsx';
import { Table, type Column } from '../../ui/tables/table.tsx';
import { useWords, type Words } from '../../words/words.ts';
import { PayoutsPanel } from './payouts-panel.tsx';
import { providerColumns } from './provider-columns.tsx';

const TONES: Readonly<Record<Payment['status'], Tone>> = {
  open: 'warn',
  paid: 'good',
  failed: 'bad',
};

/** Shows what was paid through the payment provider, and what is still open there. */
export function PaymentsPanel({
  userId,
  page,
  onPage,
}: {
  userId: number;
  page: number;
  onPage: (page: number) => void;
}) {
  const words = useWords();
  const { wallet } = words;
  const payments = useQuery(paymentsQuery({ user_id: userId, page }));
  return (
    <div className="flex flex-col gap-4">
      <Panel isFlush>
        <Paged of={payments} page={page} pageSize={ENTRIES_PAGE_SIZE} onPage={onPage}>
          {(rows) => (
            <Table
              label={wallet.payments}
              columns={columnsOf(words)}
              rows={rows}
              rowId={({ id }) => id}
              empty={
                <EmptyState icon={<CreditCard aria-hidden />} title={wallet.paymentsEmpty}>
                  {wallet.paymentsEmptyText}
                </EmptyState>
              }
            />
          )}
        </Paged>
      </Panel>
      <PayoutsPanel userId={userId} />
    </div>
  );
}

function columnsOf(words: Words): Column<Payment>[] {
  const { wallet } = words;
  return providerColumns(words, {
    status: ({ status }) => <Badge tone={TONES[status]}>{wallet.paymentStatuses[status]}</Badge>,
    done: { header: wallet.paidAt, at: ({ paid_at: at }) => at },
  });
}
