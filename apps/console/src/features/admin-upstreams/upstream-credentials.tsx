import { lazy, useState } from 'react';
import { updateCredential, type Credential, type UpstreamDetail } from '../../api/upstreams.ts';
import { Badge } from '../../ui/badge.tsx';
import { formatCount, formatDuration } from '../../ui/format.ts';
import { useAct } from '../../ui/forms/act.ts';
import { Button } from '../../ui/forms/button.tsx';
import { Ellipsis } from '../../ui/icons.tsx';
import { Menu } from '../../ui/menu.tsx';
import { OnceOpened } from '../../ui/once-opened.tsx';
import { Panel } from '../../ui/page.tsx';
import { EmptyState } from '../../ui/states.tsx';
import { Table, type Column } from '../../ui/tables/table.tsx';
import { useSpeech, useWords, type Words } from '../../words/words.ts';
import type { OpenCredential } from './credential-dialogs.tsx';

const Dialogs = lazy(async () => ({
  default: (await import('./credential-dialogs.tsx')).CredentialDialogs,
}));

/** Shows the credentials that share the requests of an upstream, and which of them nodes leave alone. */
export function UpstreamCredentials({ of: upstream }: { of: UpstreamDetail }) {
  const { upstreams, credentials: words } = useWords().admin;
  const [open, setOpen] = useState<OpenCredential>();
  return (
    <Panel
      title={words.title}
      isFlush
      actions={<Button onClick={() => setOpen({ dialog: 'add' })}>{words.add}</Button>}
    >
      <Table
        label={words.title}
        columns={columnsOf({ upstreams, words }, setOpen)}
        rows={upstream.credentials}
        rowId={({ id }) => id}
        empty={<EmptyState title={upstreams.noKey} />}
      />
      <OnceOpened isOpen={open !== undefined}>
        <Dialogs of={upstream} open={open} onClose={() => setOpen(undefined)} />
      </OnceOpened>
    </Panel>
  );
}

function columnsOf(
  {
    upstreams,
    words,
  }: {
    upstreams: Words['admin']['upstreams'];
    words: Words['admin']['credentials'];
  },
  open: (what: OpenCredential) => void,
): Column<Credential>[] {
  return [
    {
      id: 'name',
      header: upstreams.name,
      cell: (of) => <CredentialName of={of} />,
    },
    {
      id: 'kind',
      header: upstreams.authType,
      from: 'sm',
      cell: ({ auth_type: type }) => upstreams.authTypes[type],
    },
    {
      id: 'weight',
      header: words.weight,
      align: 'right',
      cell: ({ weight }) => weight,
    },
    { id: 'state', header: upstreams.status, cell: (of) => <CredentialState of={of} /> },
    { id: 'acts', header: '', align: 'right', cell: (of) => <Acts of={of} open={open} /> },
  ];
}

/** The upstream's own has no name. */
function CredentialName({ of: { name } }: { of: Pick<Credential, 'name'> }) {
  const { credentials } = useWords().admin;
  return name === null ? credentials.own : <span className="foreign">{name}</span>;
}

function CredentialState({ of: { enabled, resting } }: { of: Credential }) {
  const { words, locale } = useSpeech();
  const { upstreams, routing } = words.admin;
  if (!enabled) return <Badge tone="off">{upstreams.disabled}</Badge>;
  if (resting.length === 0) return <Badge tone="good">{upstreams.enabled}</Badge>;
  const restsMs = Math.max(...resting.map(({ open_for_ms: ms }) => ms));
  const accounts = Math.max(...resting.map(({ accounts_resting: count }) => count));
  const reasons = [...new Set(resting.map(({ why }) => why))].join(', ');
  return (
    <span className="inline-flex flex-wrap items-center gap-x-2">
      <Badge tone={restsMs > 0 ? 'bad' : 'warn'}>{routing.states.resting}</Badge>
      <span className="text-text-2">
        {restsMs > 0
          ? upstreams.rests(formatDuration(restsMs, locale))
          : upstreams.restsForAccounts(formatCount(accounts, locale))}{' '}
        (<code className="foreign">{reasons}</code>)
      </span>
    </span>
  );
}

function Acts({ of, open }: { of: Credential; open: (what: OpenCredential) => void }) {
  const { admin, general } = useWords();
  const { upstreams } = admin;
  const toggle = useAct({
    act: () => updateCredential(of, { enabled: !of.enabled }),
    done: () => upstreams.saved,
  });
  const label = `${general.more}: ${of.name ?? admin.credentials.own}`;
  return (
    <Menu
      trigger={
        <Button
          look="quiet"
          aria-label={label}
          icon={<Ellipsis aria-hidden className="size-4" />}
        />
      }
      acts={[
        { label: upstreams.test, onAct: () => open({ dialog: 'test', of }) },
        { label: upstreams.edit, onAct: () => open({ dialog: 'edit', of }) },
        {
          label: of.enabled ? upstreams.disable : upstreams.enable,
          onAct: () => toggle.run(undefined),
        },
        { label: upstreams.remove, isDanger: true, onAct: () => open({ dialog: 'delete', of }) },
      ]}
    />
  );
}
