import { useQuery } from '@tanstack/react-query';
import { budgetEntriesQuery, type Budget } from '../../api/limits/budgets.ts';
import { Dialog } from '../../ui/forms/dialog.tsx';
import { EmptyState, Loaded } from '../../ui/states.tsx';
import { Table } from '../../ui/tables/table.tsx';
import { Ago } from '../../ui/time/time.tsx';
import { useWords } from '../../words/words.ts';
import { useAmounts } from './use-amounts.ts';

/** Shows the grants and resets of a budget, newest first. */
export function BudgetHistory({ of: budget, onClose }: { of: Budget; onClose: () => void }) {
  const { budgets, wallet } = useWords();
  const { write } = useAmounts(budget.user_id);
  const entries = useQuery(budgetEntriesQuery(budget.id));
  return (
    <Dialog title={budgets.acts.history} isOpen onClose={onClose} width="wide">
      {() => (
        <Loaded of={entries}>
          {(rows) => (
            <Table
              label={budgets.acts.history}
              rows={rows}
              rowId={({ id }) => id}
              columns={[
                { id: 'at', header: wallet.when, cell: ({ created_at: at }) => <Ago at={at} /> },
                { id: 'kind', header: wallet.what, cell: ({ kind }) => budgets.entries[kind] },
                {
                  id: 'amount',
                  header: budgets.amount,
                  align: 'right',
                  cell: ({ amount }) => write(budget.unit, amount),
                },
                {
                  id: 'reason',
                  header: budgets.reason,
                  cell: ({ reason }) => <span className="foreign">{reason}</span>,
                },
              ]}
              empty={<EmptyState title={budgets.noEntries} />}
            />
          )}
        </Loaded>
      )}
    </Dialog>
  );
}
