import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { lazy, Suspense } from 'react';
import { userQuery, type ListedUser } from '../../api/users.ts';
import { paths } from '../../paths.ts';
import { CopyText } from '../../ui/copy.tsx';
import { Money } from '../../ui/figures.tsx';
import { Facts, Page as Frame, Panel } from '../../ui/page.tsx';
import { pageNumber, useSearchState, withDefault, z } from '../../ui/tables/search-state.ts';
import { Loaded } from '../../ui/states.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { Exact } from '../../ui/time/time.tsx';
import { FIRST_PAGE } from '../../ui/tables/list-table.tsx';
import { useSpeech, useWords } from '../../words/words.ts';
import { AgoOrNever } from './ago-or-never.tsx';
import { FIGURE_WORDS } from './figure-words.ts';
import { UserActs } from './user-acts.tsx';
import { UserStatus } from './user-status.tsx';
import { UserSubscriptions } from './user-subscriptions.tsx';

/** Loads a tab that the page does not open with. */
const tabs = () => import('./user-tabs.tsx');
const UserKeys = lazy(async () => ({ default: (await tabs()).UserKeys }));
const UserRequests = lazy(async () => ({ default: (await tabs()).UserRequests }));
const UserLedger = lazy(async () => ({ default: (await tabs()).UserLedger }));
const UserEvents = lazy(async () => ({ default: (await tabs()).UserEvents }));
const BudgetsPanel = lazy(async () => ({
  default: (await import('../budgets/budgets-panel.tsx')).BudgetsPanel,
}));
const PaymentsPanel = lazy(async () => ({
  default: (await import('../wallet/payments-panel.tsx')).PaymentsPanel,
}));
const NearLimits = lazy(async () => ({
  default: (await import('./near-limits.tsx')).NearLimits,
}));

const TABS = ['subscriptions', 'keys', 'usage', 'budgets', 'ledger', 'payments', 'events'] as const;
const search = z.object({
  tab: withDefault(z.enum(TABS), 'subscriptions'),
  page: pageNumber,
});

export function Page() {
  const { admin } = useWords();
  const { id = '' } = useParams({ strict: false });
  const found = useQuery(userQuery(Number(id)));
  if (found.data) return <UserPage of={found.data} />;
  return (
    <Frame title={admin.users.name} parent={{ to: paths.adminUsers(), label: admin.users.title }}>
      <Panel>
        <Loaded of={found}>{() => null}</Loaded>
      </Panel>
    </Frame>
  );
}

function UserPage({ of: user }: { of: ListedUser }) {
  const { admin } = useWords();
  const { users } = admin;
  const figures = FIGURE_WORDS[useSpeech().language];
  return (
    <Frame
      title={user.username}
      parent={{ to: paths.adminUsers(), label: users.title }}
      actions={<UserActs of={user} />}
    >
      <Panel>
        <Facts
          facts={[
            { name: users.status, value: <UserStatus of={user} /> },
            { name: users.role, value: users.roles[user.role] },
            {
              name: users.wallet,
              value: <Money amount={user.balance} currency={user.currency} />,
            },
            {
              name: figures.spend,
              value: <Money amount={user.spend_30d} currency={user.currency} />,
            },
            { name: figures.lastUse, value: <AgoOrNever at={user.last_used_at} /> },
            { name: figures.lastSeen, value: <AgoOrNever at={user.last_seen_at} /> },
            { name: users.created, value: <Exact at={user.created_at} isBrief />, isWide: true },
            { name: users.id, value: <CopyText text={String(user.id)} label={users.id} /> },
          ]}
        />
      </Panel>
      <Suspense fallback={null}>
        <NearLimits userId={user.id} />
      </Suspense>
      <UserTabs of={user} currency={user.currency} />
    </Frame>
  );
}

/** Shows everything of an account, one kind at a time. */
function UserTabs({ of: user, currency }: { of: ListedUser; currency: string }) {
  const { admin, budgets, wallet } = useWords();
  const { users } = admin;
  const { events } = FIGURE_WORDS[useSpeech().language];
  const [{ tab, page }, change] = useSearchState(search);
  return (
    <Tabs
      open={tab}
      onOpen={(next) => change({ tab: next, ...FIRST_PAGE })}
      tabs={[
        {
          id: 'subscriptions',
          label: users.subscriptionsTab,
          content: <UserSubscriptions userId={user.id} />,
        },
        { id: 'keys', label: users.keysTab, content: <UserKeys userId={user.id} /> },
        { id: 'usage', label: users.usageTab, content: <UserRequests userId={user.id} /> },
        { id: 'budgets', label: budgets.title, content: <BudgetsPanel userId={user.id} /> },
        {
          id: 'ledger',
          label: users.ledgerTab,
          content: <UserLedger userId={user.id} currency={currency} />,
        },
        {
          id: 'payments',
          label: wallet.payments,
          content: (
            <PaymentsPanel
              userId={user.id}
              page={page}
              onPage={(value) => change({ page: value })}
            />
          ),
        },
        { id: 'events', label: events, content: <UserEvents userId={user.id} /> },
      ]}
    />
  );
}
