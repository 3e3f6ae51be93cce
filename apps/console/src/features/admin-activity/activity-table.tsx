import type { ReactNode } from 'react';
import type { ActivityEntry } from '../../api/admin.ts';
import { pathOfRecord } from '../../paths.ts';
import { TextLink } from '../../ui/forms/button.tsx';
import { Table, type Column } from '../../ui/tables/table.tsx';
import { Ago } from '../../ui/time/time.tsx';
import { useSpeech, useWords, type Speech } from '../../words/words.ts';
import { actionName } from './actions.ts';

/** Shows entries of the log: who did what, with before and after. */
export function ActivityTable({
  label,
  rows,
  empty,
}: {
  label: string;
  rows: readonly ActivityEntry[];
  empty: ReactNode;
}) {
  return (
    <Table
      label={label}
      columns={columnsOf(useSpeech())}
      rows={rows}
      rowId={({ id }) => id}
      empty={empty}
    />
  );
}

/** Shows when it happened, and who acted where that has no column of its own. */
function When({ of: { at, actor_name: name } }: { of: ActivityEntry }) {
  const { activity } = useWords().admin;
  return (
    <>
      <Ago at={at} />
      <span className="foreign block text-text-2 sm:hidden">{name ?? activity.system}</span>
    </>
  );
}

/** Shows what the act was done to, where that has no column of its own. */
function What({ of: entry, language }: { of: ActivityEntry; language: Speech['language'] }) {
  return (
    <>
      <span title={entry.action}>{actionName(entry.action, language)}</span>
      <div className="sm:hidden">
        <Target of={entry} />
        <Change of={entry} />
      </div>
    </>
  );
}

function columnsOf({ words, language }: Speech): Column<ActivityEntry>[] {
  const { activity } = words.admin;
  return [
    {
      id: 'at',
      header: activity.at,
      cell: (entry) => <When of={entry} />,
    },
    {
      id: 'who',
      header: activity.who,
      from: 'sm',
      cell: ({ actor_name: name }) => (
        <span className="foreign inline-block min-w-20">{name ?? activity.system}</span>
      ),
    },
    {
      id: 'what',
      header: activity.what,
      cell: (entry) => <What of={entry} language={language} />,
    },
    {
      id: 'target',
      header: activity.target,
      from: 'sm',
      cell: (entry) => <Target of={entry} />,
    },
    {
      id: 'address',
      header: activity.address,
      from: 'lg',
      cell: ({ address }) => <code className="whitespace-nowrap">{address ?? '–'}</code>,
    },
    { id: 'change', header: '', from: 'sm', cell: (entry) => <Change of={entry} /> },
  ];
}

/** Shows what was acted on: its kind, and its name or else its number. */
function Target({ of: entry }: { of: ActivityEntry }) {
  const { admin } = useWords();
  const { target_kind: kind, target_id: id, target_name: name, target_user_id: userId } = entry;
  const isGone = entry.target_is_gone;
  const kinds: Readonly<Record<string, string>> = admin.activity.kinds;
  const to = pathOfRecord({ kind, id, name, userId, isGone });
  const shown = <span className="foreign">{name ?? id}</span>;
  return (
    <span title={id === null ? kind : `${kind} ${id}`}>
      {kinds[kind] ?? kind} {to === undefined ? shown : <TextLink to={to}>{shown}</TextLink>}
    </span>
  );
}

/** Shows before and after, as they were recorded. */
function Change({ of: { before, after } }: { of: ActivityEntry }) {
  const { admin } = useWords();
  const { activity } = admin;
  const sides = [
    { name: activity.before, value: before },
    { name: activity.after, value: after },
  ].filter(({ value }) => value !== null && value !== undefined);
  if (sides.length === 0) return null;
  return (
    <details>
      <summary className="cursor-pointer rounded-sm py-1 whitespace-nowrap text-accent">
        {activity.details}
      </summary>
      <div className="grid gap-2 py-2 md:grid-cols-2">
        {sides.map(({ name, value }) => (
          <div key={name} className="min-w-0">
            <p className="text-tiny text-text-3">{name}</p>
            <pre className="foreign max-w-md overflow-x-auto rounded-md bg-sunken p-2 text-tiny">
              {JSON.stringify(value, null, 2)}
            </pre>
          </div>
        ))}
      </div>
    </details>
  );
}
