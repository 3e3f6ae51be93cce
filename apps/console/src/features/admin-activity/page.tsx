import { useQuery } from '@tanstack/react-query';
import { History } from '../../ui/icons.tsx';
import { activityQuery, type ActivityEntry } from '../../api/admin.ts';
import { pathOfRecord } from '../../paths.ts';
import { TextLink } from '../../ui/forms/button.tsx';
import { CursorPager } from '../../ui/tables/cursor-pager.tsx';
import { SelectFilter } from '../../ui/tables/select-filter.tsx';
import { Page as Frame, Panel } from '../../ui/page.tsx';
import {
  optional,
  useSearchState,
  withDefault,
  z,
  type SearchOf,
} from '../../ui/tables/search-state.ts';
import { EmptyState, Loaded } from '../../ui/states.tsx';
import { Table, type Column } from '../../ui/tables/table.tsx';
import { Ago } from '../../ui/time/time.tsx';
import { useSpeech, useWords, type Speech } from '../../words/words.ts';
import type { Prefetch } from '../../page-module.ts';
import { actionName, actionsNamed } from './actions.ts';

const search = z.object({ action: withDefault(z.string(), ''), cursor: optional(z.string()) });

const questionOf = ({ action, cursor }: SearchOf<typeof search>) => ({
  ...(action !== '' && { action }),
  ...(cursor !== undefined && { cursor }),
});

export const prefetch: Prefetch = (ask, { search: raw }) =>
  ask(activityQuery(questionOf(search.parse(raw))));

export function Page() {
  const { words, language } = useSpeech();
  const { activity } = words.admin;
  const [{ action, cursor }, change] = useSearchState(search);
  const list = useQuery(activityQuery(questionOf({ action, cursor })));
  return (
    <Frame
      title={activity.title}
      purpose={activity.purpose}
      bar={
        <SelectFilter
          label={activity.filter}
          value={action}
          options={[{ value: '', label: activity.all }, ...actionsNamed(language)]}
          onChange={(name) => change({ action: name, cursor: undefined })}
        />
      }
    >
      <Panel isFlush>
        <Loaded of={list}>
          {({ data, next_cursor: next }) => (
            <>
              <ActivityTable rows={data} isFiltered={action !== ''} />
              <CursorPager
                cursor={cursor}
                next={next}
                onCursor={(value) => change({ cursor: value })}
              />
            </>
          )}
        </Loaded>
      </Panel>
    </Frame>
  );
}

function ActivityTable({
  rows,
  isFiltered,
}: {
  rows: readonly ActivityEntry[];
  isFiltered: boolean;
}) {
  const speech = useSpeech();
  const { activity } = speech.words.admin;
  return (
    <Table
      label={activity.title}
      columns={columnsOf(speech)}
      rows={rows}
      rowId={({ id }) => id}
      empty={
        <EmptyState
          icon={<History aria-hidden />}
          title={isFiltered ? activity.noMatch : activity.empty}
        />
      }
    />
  );
}

/** And who, where that has no column of its own. */
function When({ of: { at, actor_name: name } }: { of: ActivityEntry }) {
  const { activity } = useWords().admin;
  return (
    <>
      <Ago at={at} />
      <span className="foreign block text-text-2 sm:hidden">{name ?? activity.system}</span>
    </>
  );
}

/** And of what, where that has no column of its own. */
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

/** Before and after, as they were recorded. */
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
