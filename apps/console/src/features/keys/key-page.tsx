import { useQuery } from '@tanstack/react-query';
import { useLocation, useNavigate, useParams } from '@tanstack/react-router';
import { Ellipsis } from '../../ui/icons.tsx';
import { lazy, Suspense, useState } from 'react';
import { keyQuery, type Key } from '../../api/keys.ts';
import { subscriptionsQuery } from '../../api/models.ts';
import { userQuery } from '../../api/users.ts';
import { paths } from '../../paths.ts';
import { Button } from '../../ui/forms/button.tsx';
import { Menu } from '../../ui/menu.tsx';
import { Facts, Page as Frame, Panel } from '../../ui/page.tsx';
import { optional, useSearchState, withDefault, z } from '../../ui/tables/search-state.ts';
import { Loaded } from '../../ui/states.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { Ago, Exact } from '../../ui/time/time.tsx';
import { useWords } from '../../words/words.ts';
import { AllowedModels } from './allowed-models.tsx';
import type { KeyDialog } from './key-dialogs.tsx';
import { KeyLimits } from './key-limits.tsx';
import { KeyStatus } from './key-status.tsx';
import { KeyUsage } from './key-usage.tsx';
import { KeyWindows } from './key-windows.tsx';
import { useToggleKey } from './use-toggle-key.ts';

/** Arrives behind the key itself: the page is as light as before when it is opened first. */
const BudgetsPanel = lazy(async () => ({
  default: (await import('../budgets/budgets-panel.tsx')).BudgetsPanel,
}));
const SnippetTabs = lazy(async () => ({
  default: (await import('./snippet-tabs.tsx')).SnippetTabs,
}));
/** Loads the dialogs of a key when one of them opens. */
const KeyDialogs = lazy(async () => ({
  default: (await import('./key-dialogs.tsx')).KeyDialogs,
}));

const search = z.object({
  tab: withDefault(z.enum(['usage', 'snippets']), 'usage'),
  cursor: optional(z.string()),
});

export function Page() {
  const { keys } = useWords();
  const { id = '' } = useParams({ strict: false });
  const found = useQuery(keyQuery(Number(id)));
  if (found.data) return <KeyPage of={found.data} />;
  return (
    <Frame title={keys.key} parent={{ to: paths.keys(), label: keys.title }}>
      <Panel>
        <Loaded of={found}>{() => null}</Loaded>
      </Panel>
    </Frame>
  );
}

function KeyPage({ of: key }: { of: Key }) {
  const { keys } = useWords();
  const navigate = useNavigate();
  const [open, setOpen] = useState<KeyDialog>();
  const parent = useKeyParent(key);
  return (
    <Frame
      title={key.name}
      parent={parent}
      actions={
        <>
          <Button
            look="primary"
            blockedBy={key.is_temporary ? keys.temporaryText : undefined}
            onClick={() => setOpen('edit')}
          >
            {keys.edit}
          </Button>
          <KeyMenu of={key} open={setOpen} />
        </>
      }
    >
      <KeyFacts of={key} />
      <KeyWindows of={key} />
      <KeyBudgets of={key} />
      <KeyTabs of={key} />
      {open !== undefined && (
        <Suspense fallback={null}>
          <KeyDialogs
            of={key}
            open={open}
            onClose={() => setOpen(undefined)}
            onDeleted={() => navigate({ to: parent.to })}
          />
        </Suspense>
      )}
    </Frame>
  );
}

/** Shows the budgets of a key. Keys of the playground end before a budget would. */
function KeyBudgets({ of: key }: { of: Key }) {
  if (key.is_temporary) return null;
  return (
    <Suspense fallback={null}>
      <BudgetsPanel userId={key.user_id} keyId={key.id} />
    </Suspense>
  );
}

function KeyMenu({ of: key, open }: { of: Key; open: (what: KeyDialog) => void }) {
  const { keys, general } = useWords();
  const toggle = useToggleKey(key);
  const lastingActs = [
    { label: key.status === 'enabled' ? keys.disable : keys.enable, onAct: toggle },
    { label: keys.rotate, onAct: () => open('rotate') },
  ];
  return (
    <Menu
      trigger={<Button icon={<Ellipsis aria-hidden className="size-4" />}>{general.more}</Button>}
      acts={[
        ...(key.is_temporary ? [] : lastingActs),
        { label: keys.remove, isDanger: true, onAct: () => open('delete') },
      ]}
    />
  );
}

/** Shows usage of a key and snippets that use it. */
function KeyTabs({ of: key }: { of: Key }) {
  const { keys } = useWords();
  const [{ tab, cursor }, change] = useSearchState(search);
  const { data: subscriptions } = useQuery(subscriptionsQuery(key.user_id));
  const first = key.allowed_models.split(',')[0] ?? '';
  const model = first === '' || first.includes('*') ? subscriptions?.[0]?.model : first;
  return (
    <Tabs
      open={tab}
      onOpen={(id) => change({ tab: id })}
      tabs={[
        {
          id: 'usage',
          label: keys.overviewTab,
          content: (
            <KeyUsage of={key} cursor={cursor} onCursor={(next) => change({ cursor: next })} />
          ),
        },
        {
          id: 'snippets',
          label: keys.snippetsTab,
          content: (
            <Panel>
              <p className="mb-3 text-text-2">{keys.snippetSecret}</p>
              <SnippetTabs secret={`${key.key_prefix}…`} model={model} />
            </Panel>
          ),
        },
      ]}
    />
  );
}

/** Administrators come from the account's page and go back there. */
function useKeyParent({ user_id: userId }: Key): { to: string; label: string } {
  const { keys, admin } = useWords();
  const isAdmin = useLocation().pathname.startsWith(paths.admin());
  const { data: owner } = useQuery({ ...userQuery(userId), enabled: isAdmin, retry: false });
  return isAdmin
    ? { to: paths.adminUser(userId), label: owner?.username ?? admin.users.name }
    : { to: paths.keys(), label: keys.title };
}

function KeyFacts({ of: key }: { of: Key }) {
  const { keys } = useWords();
  return (
    <Panel>
      <Facts
        facts={[
          { name: keys.status, value: <KeyStatus of={key} /> },
          { name: keys.key, value: <code className="foreign">{key.key_prefix}…</code> },
          { name: keys.models, value: <AllowedModels allowed={key.allowed_models} /> },
          { name: keys.limits, value: <KeyLimits of={key} /> },
          {
            name: keys.lastUsed,
            value: key.last_used_at === null ? keys.notUsed : <Ago at={key.last_used_at} />,
          },
          {
            name: keys.expires,
            value:
              key.expires_at === null ? keys.expiresNever : <Exact at={key.expires_at} isBrief />,
          },
          {
            name: keys.addresses,
            value: key.ip_allowlist === '' ? keys.anyAddress : key.ip_allowlist,
          },
          { name: keys.created, value: <Exact at={key.created_at} isBrief /> },
        ]}
      />
    </Panel>
  );
}
