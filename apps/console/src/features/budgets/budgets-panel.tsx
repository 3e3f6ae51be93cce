import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useState } from 'react';
import { BUDGETS_PAGE_SIZE, budgetsQuery, budgetUsageQuery } from '../../api/limits/budgets.ts';
import { SLOWLY_LIVE } from '../../api/live.ts';
import { useMe } from '../../api/session.ts';
import { Button } from '../../ui/forms/button.tsx';
import { Plus } from '../../ui/icons.tsx';
import { Panel } from '../../ui/page.tsx';
import { EmptyState } from '../../ui/states.tsx';
import { Paged } from '../../ui/tables/paged.tsx';
import { pageNumber, useSearchState, z } from '../../ui/tables/search-state.ts';
import { Table } from '../../ui/tables/table.tsx';
import { Freshness } from '../../ui/time/freshness.tsx';
import { useWords } from '../../words/words.ts';
import type { BudgetDialog } from './budget-dialogs.tsx';
import { useBudgetColumns } from './use-budget-columns.tsx';

/** Loads the dialogs of budgets when one of them opens. */
const BudgetDialogs = lazy(async () => ({
  default: (await import('./budget-dialogs.tsx')).BudgetDialogs,
}));

const search = z.object({ page: pageNumber });

interface BudgetsOf {
  userId: number;
  /** Is absent for the budgets of the account and of all its keys. */
  keyId?: number | undefined;
}

/** Shows budgets with what is used and held of them, and lets those who may change them do so. */
export function BudgetsPanel({ userId, keyId }: BudgetsOf) {
  const { budgets } = useWords();
  const [open, setOpen] = useState<BudgetDialog>();
  const [{ page }, change] = useSearchState(search);
  const { found, usage } = useBudgets({ userId, keyId, page });
  const isAdmin = useMe().role === 'admin';
  const columns = useBudgetColumns(
    { userId, isOfKey: keyId !== undefined, isAdmin, usage },
    setOpen,
  );
  return (
    <Panel
      title={budgets.title}
      note={<Freshness of={found} />}
      isFlush
      actions={<AddButton onClick={() => setOpen({ kind: 'create', userId, keyId })} />}
    >
      <p className="px-4 pb-3 text-table text-text-2">
        {keyId === undefined ? budgets.purpose : budgets.purposeOfKey}
      </p>
      <Paged
        of={found}
        page={page}
        pageSize={BUDGETS_PAGE_SIZE}
        onPage={(value) => change({ page: value })}
      >
        {(rows) => (
          <Table
            label={budgets.title}
            columns={columns}
            rows={rows}
            rowId={({ id }) => id}
            empty={<EmptyState title={budgets.empty}>{budgets.emptyText}</EmptyState>}
          />
        )}
      </Paged>
      {open && <OpenDialog open={open} onClose={() => setOpen(undefined)} />}
    </Panel>
  );
}

/** Reads a page of budgets, and what is used of them. */
function useBudgets({ userId, keyId, page }: BudgetsOf & { page: number }) {
  const query = { user_id: userId, ...(keyId !== undefined && { key_id: keyId }), page };
  const found = useQuery({ ...budgetsQuery(query), ...SLOWLY_LIVE });
  const ids = (found.data?.data ?? []).map(({ id }) => id);
  const usage = useQuery({ ...budgetUsageQuery(ids), ...SLOWLY_LIVE, enabled: ids.length > 0 });
  return { found, usage: usage.data };
}

function OpenDialog({ open, onClose }: { open: BudgetDialog; onClose: () => void }) {
  return (
    <Suspense fallback={null}>
      <BudgetDialogs open={open} onClose={onClose} />
    </Suspense>
  );
}

function AddButton({ onClick }: { onClick: () => void }) {
  const { budgets } = useWords();
  return (
    <Button size="small" icon={<Plus aria-hidden className="size-4" />} onClick={onClick}>
      {budgets.create}
    </Button>
  );
}
