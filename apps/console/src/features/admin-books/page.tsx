import { useQuery } from '@tanstack/react-query';
import {
  alertsQuery,
  booksQuery,
  runBooks,
  type Books,
  deadLettersQuery,
} from '../../api/admin.ts';
import { LIVE } from '../../api/live.ts';
import { useAct } from '../../ui/forms/act.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/forms/button.tsx';
import { Count, Duration } from '../../ui/figures.tsx';
import { Page as Frame, Panel } from '../../ui/page.tsx';
import { EmptyState, Loaded } from '../../ui/states.tsx';
import { Table, type Column } from '../../ui/tables/table.tsx';
import { Tile, Tiles } from '../../ui/tile.tsx';
import { Ago } from '../../ui/time/time.tsx';
import { useSpeech, useWords, type Speech } from '../../words/words.ts';
import { equalityOf } from './equalities.ts';
import { AlertsTable } from '../admin-alerts/page.tsx';
import { DeadLetters } from './dead-letters.tsx';
import type { Prefetch } from '../../page-module.ts';

type Check = Books['checks'][number];

const driftsQuery = alertsQuery({ status: 'all', rule: 'drift' });

export const prefetch: Prefetch = (ask) => {
  ask(booksQuery);
  ask(driftsQuery);
  ask(deadLettersQuery('open'));
};

export function Page() {
  const { admin } = useWords();
  const { books } = admin;
  const found = useQuery({ ...booksQuery, ...LIVE });
  const { isBusy, run } = useAct({ act: () => runBooks(), done: () => books.started });
  const isRunning = (found.data?.running_since ?? null) !== null;
  return (
    <Frame
      title={books.title}
      purpose={books.purpose}
      actions={
        <Button look="primary" isBusy={isBusy || isRunning} onClick={() => run(undefined)}>
          {books.run}
        </Button>
      }
    >
      <Loaded of={found}>
        {(state) => (
          <>
            <BooksTiles of={state} />
            <Panel isFlush>
              <ChecksTable rows={state.checks} />
            </Panel>
          </>
        )}
      </Loaded>
      <DeadLetters />
      <Drifts />
    </Frame>
  );
}

function BooksTiles({ of: state }: { of: Books }) {
  const { books } = useWords().admin;
  const isProved = state.checks.some((check) => check.is_sound !== null);
  const held = state.checks.filter((check) => check.is_sound === true).length;
  return (
    <Tiles>
      <Tile
        label={books.hold}
        figure={isProved ? `${held} / ${state.checks.length}` : books.unknown}
        note={
          state.running_since === null ? undefined : (
            <>
              {books.running} <Ago at={state.running_since} />
            </>
          )
        }
      />
      <Tile label={books.deadLetters} figure={<Count count={state.dead_letters} isWhole />} />
      <Tile
        label={books.backlog}
        figure={state.waiting_jobs === null ? '–' : <Count count={state.waiting_jobs} isWhole />}
      />
      <Tile label={books.proven} figure={<LastProven of={state.checks} />} />
    </Tiles>
  );
}

/** Lists times at which a ledger and a balance differed, and when that was over. */
function Drifts() {
  const { admin } = useWords();
  const { books } = admin;
  const drifts = useQuery(driftsQuery);
  return (
    <Panel title={books.drifts} isFlush>
      <Loaded of={drifts}>
        {({ data }) => <AlertsTable rows={data} empty={<EmptyState title={books.noDrifts} />} />}
      </Loaded>
    </Panel>
  );
}

/** Shows when all of it was last proven: the time of the equality that was proven longest ago. */
function LastProven({ of: checks }: { of: readonly Check[] }) {
  const times = checks.map(({ proven_at: at }) => at ?? '').toSorted();
  const oldest = times[0] ?? '';
  return oldest === '' ? '–' : <Ago at={oldest} />;
}

function CheckState({ of: { is_sound: isSound } }: { of: Check }) {
  const { admin } = useWords();
  const { books } = admin;
  if (isSound === null) return <Badge tone="off">{books.unknown}</Badge>;
  return <Badge tone={isSound ? 'good' : 'bad'}>{isSound ? books.sound : books.broken}</Badge>;
}

function Problems({ of: { is_sound: isSound, problems } }: { of: Check }) {
  return isSound === null ? '–' : <Count count={problems} isWhole />;
}

function ChecksTable({ rows }: { rows: readonly Check[] }) {
  const speech = useSpeech();
  return (
    <Table
      label={speech.words.admin.books.title}
      columns={columnsOf(speech)}
      rows={rows}
      rowId={({ name }) => name}
    />
  );
}

function columnsOf({ words, language }: Speech): Column<Check>[] {
  const { books } = words.admin;
  return [
    {
      id: 'check',
      header: books.check,
      cell: ({ name, says, example }) => (
        <>
          <span className="font-medium">{equalityOf(name, language)?.title ?? name}</span>
          <span className="block text-text-2">{equalityOf(name, language)?.says ?? says}</span>
          {example !== null && (
            <pre className="foreign mt-1 rounded-md bg-sunken p-2 text-tiny whitespace-pre-wrap">
              {books.example}: {JSON.stringify(example)}
            </pre>
          )}
        </>
      ),
    },
    { id: 'state', header: books.sound, cell: (check) => <CheckState of={check} /> },
    {
      id: 'problems',
      header: books.problems,
      align: 'right',
      cell: (check) => <Problems of={check} />,
    },
    {
      id: 'proven',
      header: books.proven,
      from: 'md',
      cell: ({ proven_at: at }) => (at === null ? '–' : <Ago at={at} />),
    },
    {
      id: 'took',
      header: books.took,
      align: 'right',
      from: 'md',
      cell: ({ duration_ms: ms }) => <Duration ms={ms} />,
    },
  ];
}
