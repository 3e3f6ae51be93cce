import { useQuery, type UseQueryResult } from '@tanstack/react-query';
import { Download, Plus, Wallet as WalletIcon } from '../../ui/icons.tsx';
import { useState } from 'react';
import { exportAddress, type Shape } from '../../api/client.ts';
import { useMe } from '../../api/session.ts';
import { useLive } from '../../api/events/stream.ts';
import { entriesQuery, ENTRIES_PAGE_SIZE, walletQuery } from '../../api/wallet.ts';
import type { Search } from '../../search.ts';
import { Button } from '../../ui/forms/button.tsx';
import { DownloadLink } from '../../ui/download-link.tsx';
import { SelectFilter } from '../../ui/tables/select-filter.tsx';
import { Money } from '../../ui/figures.tsx';
import { Freshness } from '../../ui/time/freshness.tsx';
import { Page as Frame, Panel } from '../../ui/page.tsx';
import { Paged } from '../../ui/tables/paged.tsx';
import {
  optional,
  pageNumber,
  useSearchState,
  withDefault,
  z,
  type SearchOf,
} from '../../ui/tables/search-state.ts';
import { EmptyState, Loaded } from '../../ui/states.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { useWords } from '../../words/words.ts';
import { BudgetsPanel } from '../budgets/budgets-panel.tsx';
import { NextStep } from '../first-steps/next-step.tsx';
import { EntriesTable } from './entries-table.tsx';
import { PaymentsPanel } from './payments-panel.tsx';
import { RechargeDialog } from './recharge-dialog.tsx';
import { SandboxNote } from './sandbox-note.tsx';
import { firstStepsQuery } from '../../api/usage.ts';
import type { Prefetch } from '../../page-module.ts';

const KINDS = [
  'recharge',
  'admin_recharge',
  'subscribe',
  'renew',
  'auto_recharge',
  'refund',
  'forfeit',
  'adjustment',
  'payout',
  'payout_return',
] as const;
const search = z.object({
  tab: withDefault(z.enum(['movements', 'payments', 'budgets']), 'movements'),
  kind: optional(z.enum(KINDS)),
  page: pageNumber,
  recharge: optional(z.literal('1')),
});

const questionOf = (
  userId: number,
  { page, kind }: Pick<SearchOf<typeof search>, 'page' | 'kind'>,
) => ({
  user_id: userId,
  page,
  ...(kind !== undefined && { kind }),
});

export const prefetch: Prefetch = (ask, { me, search: raw }) => {
  ask(walletQuery(me.id));
  ask(entriesQuery(questionOf(me.id, search.parse(raw))));
  ask(firstStepsQuery);
};

export function Page() {
  const { wallet } = useWords();
  const me = useMe();
  const live = useLive();
  const [{ kind, recharge }, change] = useSearchState(search);
  const [isPaying, setPaying] = useState(recharge === '1');
  const balance = useQuery({ ...walletQuery(me.id), ...live });
  const currency = balance.data?.currency ?? '';
  const payments = balance.data?.payments;
  return (
    <Frame
      title={wallet.title}
      purpose={wallet.purpose}
      actions={
        <>
          <WalletExport kind={kind} />
          <RechargeButton hasPayments={payments !== 'none'} onPay={() => setPaying(true)} />
        </>
      }
    >
      <SandboxNote />
      <NextStep />
      <BalancePanel of={balance} />
      <WalletTabs userId={me.id} currency={currency} />
      <RechargeDialog
        userId={me.id}
        currency={currency}
        isOpen={isPaying && payments !== undefined && payments !== 'none'}
        onClose={() => {
          setPaying(false);
          change({ recharge: undefined });
        }}
      />
    </Frame>
  );
}

function RechargeButton({ hasPayments, onPay }: { hasPayments: boolean; onPay: () => void }) {
  const { wallet, failures } = useWords();
  return (
    <Button
      look="primary"
      icon={<Plus aria-hidden className="size-4" />}
      blockedBy={hasPayments ? undefined : failures.codes.payments_not_configured}
      onClick={onPay}
    >
      {wallet.recharge}
    </Button>
  );
}

function WalletExport({ kind }: Pick<SearchOf<typeof search>, 'kind'>) {
  const { general } = useWords();
  const me = useMe();
  const question = { user_id: me.id, ...(kind !== undefined && { kind }) };
  return (
    <DownloadLink
      href={exportAddress('/admin-api/wallet/logs', question)}
      icon={<Download aria-hidden className="size-4" />}
    >
      {general.exportCsv}
    </DownloadLink>
  );
}

function WalletTabs({ userId, currency }: { userId: number; currency: string }) {
  const { wallet, budgets } = useWords();
  const [{ tab, kind, page }, change] = useSearchState(search);
  return (
    <Tabs
      open={tab}
      onOpen={(next) => change({ tab: next, page: undefined })}
      tabs={[
        {
          id: 'movements',
          label: wallet.ledger,
          content: (
            <EntriesPanel
              userId={userId}
              currency={currency}
              kind={kind}
              page={page}
              onChange={change}
            />
          ),
        },
        {
          id: 'payments',
          label: wallet.payments,
          content: (
            <PaymentsPanel
              userId={userId}
              page={page}
              onPage={(value) => change({ page: value })}
            />
          ),
        },
        { id: 'budgets', label: budgets.title, content: <BudgetsPanel userId={userId} /> },
      ]}
    />
  );
}

function BalancePanel({ of: balance }: { of: UseQueryResult<Shape<'Wallet'>> }) {
  const { wallet } = useWords();
  return (
    <Panel>
      <Loaded of={balance}>
        {({ balance: amount, currency }) => (
          <div className="flex flex-wrap items-end justify-between gap-3">
            <div>
              <p className="text-table text-text-2">{wallet.balance}</p>
              <p className="mt-1 text-figure font-semibold tracking-tight">
                <Money amount={amount} currency={currency} />
              </p>
            </div>
            <Freshness of={balance} />
          </div>
        )}
      </Loaded>
    </Panel>
  );
}

interface EntriesPanelProps {
  userId: number;
  currency: string;
  kind: (typeof KINDS)[number] | undefined;
  page: number;
  onChange: (patch: Search) => void;
}

/** Shows every movement, one kind at a time or all. */
function EntriesPanel({ userId, currency, kind, page, onChange }: EntriesPanelProps) {
  const { wallet } = useWords();
  const entries = useQuery(entriesQuery(questionOf(userId, { page, kind })));
  return (
    <Panel
      title={wallet.ledger}
      isFlush
      actions={
        <KindFilter kind={kind} onChange={(value) => onChange({ kind: value, page: undefined })} />
      }
    >
      <Paged
        of={entries}
        page={page}
        pageSize={ENTRIES_PAGE_SIZE}
        onPage={(value) => onChange({ page: value })}
      >
        {(rows) => (
          <EntriesTable
            rows={rows}
            currency={currency}
            empty={<NoEntries isFiltered={kind !== undefined} />}
          />
        )}
      </Paged>
    </Panel>
  );
}

interface KindFilterProps {
  kind: (typeof KINDS)[number] | undefined;
  onChange: (kind: string) => void;
}

function KindFilter({ kind, onChange }: KindFilterProps) {
  const { wallet } = useWords();
  return (
    <SelectFilter
      label={wallet.what}
      value={kind ?? ''}
      onChange={onChange}
      options={[
        { value: '', label: wallet.all },
        ...KINDS.map((value) => ({ value, label: wallet.kinds[value] })),
      ]}
    />
  );
}

function NoEntries({ isFiltered }: { isFiltered: boolean }) {
  const { wallet } = useWords();
  return isFiltered ? (
    <EmptyState title={wallet.noMatch} />
  ) : (
    <EmptyState icon={<WalletIcon aria-hidden />} title={wallet.emptyTitle}>
      {wallet.emptyText}
    </EmptyState>
  );
}
