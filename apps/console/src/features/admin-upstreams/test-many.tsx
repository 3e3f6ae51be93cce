import { useState } from 'react';
import { failureOf } from '../../api/failure.ts';
import { testUpstream, type Upstream } from '../../api/upstreams.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/forms/button.tsx';
import { Dialog } from '../../ui/forms/dialog.tsx';
import { formatCount, formatDuration } from '../../ui/format.ts';
import { Parts } from '../../ui/tables/parts.tsx';
import { Table, type Column } from '../../ui/tables/table.tsx';
import { useSpeech, type Speech } from '../../words/words.ts';
import { MANY_WORDS } from './many-words.ts';

/** Limits the providers that are asked at the same time. */
const PARALLEL = 4;
const PART = 25;

/** Describes the state of one test: it runs, or its answer. */
type Tested = 'runs' | { isWell: boolean; text: string };
type Results = ReadonlyMap<number, Tested>;

interface TestManyProps {
  of: readonly Upstream[];
  onClose: () => void;
}

/** Tests the upstreams that the list shows, and fills in each answer as it comes. */
export function TestManyDialog({ of: upstreams, onClose }: TestManyProps) {
  const speech = useSpeech();
  const words = MANY_WORDS[speech.language];
  const { results, isRunning, start } = useTests(upstreams, speech);
  const count = (value: number): string => formatCount(value, speech.locale);
  const well = [...results.values()].filter((one) => one !== 'runs' && one.isWell).length;
  return (
    <Dialog title={words.testTitle} purpose={words.testText} isOpen onClose={onClose} width="wide">
      {() => (
        <div className="flex flex-col gap-4">
          <Parts of={upstreams} size={PART}>
            {(part) => (
              <Table
                label={words.testTitle}
                columns={columnsOf(speech, results)}
                rows={part}
                rowId={({ id }) => id}
              />
            )}
          </Parts>
          <div data-actions className="flex items-center gap-3">
            <span role="status" className="flex-1 text-text-2">
              {results.size > 0 && words.summary(count(well), count(upstreams.length))}
            </span>
            <Button look="primary" isBusy={isRunning} onClick={start}>
              {words.testAll(count(upstreams.length))}
            </Button>
          </div>
        </div>
      )}
    </Dialog>
  );
}

function useTests(upstreams: readonly Upstream[], speech: Speech) {
  const [results, setResults] = useState<Results>(new Map());
  const [isRunning, setRunning] = useState(false);
  const set = (id: number, tested: Tested): void =>
    setResults((before) => new Map([...before, [id, tested]]));
  const start = async (): Promise<void> => {
    setRunning(true);
    setResults(new Map());
    const rest = upstreams.values();
    const work = async (): Promise<void> => {
      for (const { id } of rest) {
        set(id, 'runs');
        set(id, await resultOf(id, speech));
      }
    };
    await Promise.all(Array.from({ length: PARALLEL }, work));
    setRunning(false);
  };
  return { results, isRunning, start: () => void start() };
}

async function resultOf(id: number, { words, locale }: Speech): Promise<Tested> {
  const { upstreams } = words.admin;
  try {
    const { ok: isWell, duration_ms: ms, error } = await testUpstream(id, '');
    return {
      isWell,
      text: isWell
        ? upstreams.testOk(formatDuration(ms, locale))
        : (error?.message ?? upstreams.testFailed),
    };
  } catch (error) {
    const { title, detail } = failureOf(error, words);
    return { isWell: false, text: detail ?? title };
  }
}

function columnsOf({ words, language }: Speech, results: Results): Column<Upstream>[] {
  const { upstreams } = words.admin;
  return [
    {
      id: 'name',
      header: upstreams.name,
      cell: ({ name }) => <span className="foreign">{name}</span>,
    },
    {
      id: 'result',
      header: upstreams.status,
      cell: ({ id }) => <Result of={results.get(id)} words={MANY_WORDS[language]} />,
    },
  ];
}

interface ResultProps {
  of: Tested | undefined;
  words: (typeof MANY_WORDS)['en'];
}

function Result({ of: tested, words }: ResultProps) {
  if (tested === undefined) return <span className="text-text-3">{words.waits}</span>;
  if (tested === 'runs') return <Badge tone="accent">{words.runs}</Badge>;
  return (
    <span className={`foreign ${tested.isWell ? 'text-good' : 'text-bad'}`}>{tested.text}</span>
  );
}
