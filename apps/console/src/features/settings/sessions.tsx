import { useQuery } from '@tanstack/react-query';
import { endSession, sessionsQuery, type SessionEntry } from '../../api/account.ts';
import { useState } from 'react';
import { signOut, useMe } from '../../api/session.ts';
import { useAct } from '../../ui/forms/act.ts';
import { useActedRows } from '../../ui/tables/acted-rows.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/forms/button.tsx';
import { ConfirmDialog } from '../../ui/forms/confirm-dialog.tsx';
import { useLeave } from '../../ui/forms/sign-out.ts';
import { Panel } from '../../ui/page.tsx';
import { EmptyState, Loaded } from '../../ui/states.tsx';
import { Table, type Column } from '../../ui/tables/table.tsx';
import { Ago } from '../../ui/time/time.tsx';
import { useWords, type Words } from '../../words/words.ts';

/** Lists the sessions of the account; each can be ended. */
export function Sessions() {
  const words = useWords();
  const { settings } = words;
  const me = useMe();
  const sessions = useQuery(sessionsQuery(me.id));
  const { shown, isActed, keep } = useActedRows(sessions.data?.data ?? [], ({ sid }) => sid);
  const { run } = useAct({
    act: async (session: SessionEntry) => {
      await endSession(session.sid);
      keep(session);
    },
    done: () => settings.ended,
  });
  return (
    <Panel title={settings.sessions} isFlush actions={<SignOutEverywhere />}>
      <Loaded of={sessions}>
        {() => (
          <Table
            label={settings.sessions}
            columns={columnsOf(words, { isActed, run })}
            rows={shown}
            rowId={({ sid }) => sid}
            empty={<EmptyState title={settings.noSessions} />}
          />
        )}
      </Loaded>
    </Panel>
  );
}

function SignOutEverywhere() {
  const { settings } = useWords();
  const leave = useLeave();
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button onClick={() => setOpen(true)}>{settings.signOutEverywhere}</Button>
      <ConfirmDialog
        title={settings.signOutEverywhere}
        text={settings.signOutEverywhereText}
        verb={settings.signOutEverywhere}
        isOpen={isOpen}
        onClose={() => setOpen(false)}
        act={() => signOut({ all: true })}
        done={() => settings.signedOutEverywhere}
        onDone={leave}
      />
    </>
  );
}

interface Ending {
  isActed: (session: SessionEntry) => boolean;
  run: (session: SessionEntry) => void;
}

function columnsOf({ settings, general }: Words, { isActed, run }: Ending): Column<SessionEntry>[] {
  return [
    {
      id: 'device',
      header: settings.device,
      cell: ({ user_agent: agent }) => (
        <span className="foreign line-clamp-1 max-w-72" title={agent}>
          {browserOf(agent) ?? general.unknown}
        </span>
      ),
    },
    {
      id: 'address',
      header: settings.address,
      from: 'sm',
      cell: ({ address }) => <code>{address}</code>,
    },
    {
      id: 'started',
      header: settings.started,
      from: 'md',
      cell: ({ created_at: at }) => <Ago at={at} />,
    },
    {
      id: 'seen',
      header: settings.lastSeen,
      from: 'sm',
      cell: ({ last_seen_at: at }) => <Ago at={at} />,
    },
    {
      id: 'end',
      header: general.actions,
      align: 'right',
      cell: (session) => (
        <EndCell of={session} isOver={isActed(session)} onEnd={() => run(session)} />
      ),
    },
  ];
}

function EndCell({
  of: { is_current: isCurrent },
  isOver,
  onEnd,
}: {
  of: SessionEntry;
  isOver: boolean;
  onEnd: () => void;
}) {
  const { settings } = useWords();
  if (isCurrent) return <Badge tone="good">{settings.current}</Badge>;
  if (isOver) return <Badge tone="off">{settings.over}</Badge>;
  return (
    <Button size="small" onClick={onEnd}>
      {settings.end}
    </Button>
  );
}

/** Returns text such as "Chrome 141 · Linux", enough to recognise the browser. The order matters: browsers pretend to be each other. */
function browserOf(agent: string): string | undefined {
  const browser = /(Edg|OPR|Firefox|Chrome|Version)\/(\d+)/.exec(agent);
  const system = /(Windows|Mac OS X|Android|iPhone|iPad|Linux)/.exec(agent)?.[1];
  const names: Readonly<Record<string, string>> = { Edg: 'Edge', OPR: 'Opera', Version: 'Safari' };
  const name = browser?.[1];
  if (name === undefined) return agent === '' ? undefined : agent.slice(0, 60);
  return [`${names[name] ?? name} ${browser?.[2] ?? ''}`, system].filter(Boolean).join(' · ');
}
