import { useQuery } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { endRequest, runningQuery, type RunningRequest } from '../../api/incidents.ts';
import { Badge } from '../../ui/badge.tsx';
import { Count, Duration } from '../../ui/figures.tsx';
import { Button } from '../../ui/forms/button.tsx';
import { FormDialog } from '../../ui/forms/confirm-dialog.tsx';
import { TextField } from '../../ui/forms/field.tsx';
import { Panel } from '../../ui/page.tsx';
import { EmptyState, Loaded } from '../../ui/states.tsx';
import { Table, type Column } from '../../ui/tables/table.tsx';
import { Freshness } from '../../ui/time/freshness.tsx';
import { useWords, type Words } from '../../words/words.ts';
import type { RequestColumn } from './requests-table.tsx';

interface RunningPanelProps {
  /** Is undefined for all accounts. */
  userId: number | undefined;
  show: readonly RequestColumn[];
  actions: ReactNode;
}

/** Shows the requests that run now, the longest first. Each can be ended. */
export function RunningPanel({ userId, show, actions }: RunningPanelProps) {
  const words = useWords();
  const { usage } = words;
  const running = useQuery(runningQuery(userId));
  const [ending, setEnding] = useState<RunningRequest | null>(null);
  return (
    <Panel title={usage.lists.running} isFlush actions={actions} note={<Freshness of={running} />}>
      <Loaded of={running}>
        {({ at, data, total, silent_workers: silent }) => (
          <>
            <Table
              label={usage.lists.running}
              columns={columnsOf(words, { show, at, onEnd: setEnding })}
              rows={data}
              rowId={({ rid }) => rid}
              empty={<EmptyState title={usage.noRunning} />}
            />
            {(total > data.length || silent > 0) && (
              <p role="status" className="border-t border-line px-4 py-2.5 text-table text-text-2">
                {usage.runningOf(data.length, total, silent)}
              </p>
            )}
          </>
        )}
      </Loaded>
      {ending && <EndDialog of={ending} onClose={() => setEnding(null)} />}
    </Panel>
  );
}

function EndDialog({ of: { rid, model }, onClose }: { of: RunningRequest; onClose: () => void }) {
  const { usage } = useWords();
  return (
    <FormDialog
      title={`${usage.end}: ${model ?? rid}`}
      purpose={usage.endPurpose}
      verb={usage.end}
      isOpen
      onClose={onClose}
      act={({ reason = '' }) => endRequest(rid, reason)}
      done={() => usage.ending}
    >
      <TextField name="reason" label={usage.endReason} required autoComplete="off" />
    </FormDialog>
  );
}

interface RunningColumns {
  show: readonly RequestColumn[];
  /** Is the time of the look at the nodes. */
  at: string;
  onEnd: (row: RunningRequest) => void;
}

function columnsOf(words: Words, { show, at, onEnd }: RunningColumns): Column<RunningRequest>[] {
  return [...whatColumns(words, show), ...figureColumns(words, at), endColumn(words, onEnd)];
}

const NAMED: Record<RequestColumn, (row: RunningRequest) => string | null> = {
  user: ({ username }) => username,
  key: ({ key_name: name }) => name,
  upstream: ({ upstream }) => upstream,
  node: ({ node }) => node,
};

function whatColumns({ usage }: Words, show: readonly RequestColumn[]): Column<RunningRequest>[] {
  return [
    {
      id: 'model',
      header: usage.model,
      cell: ({ model, is_ending: isEnding }) => (
        <span className="flex items-center gap-2">
          <span className="foreign">{model ?? '–'}</span>
          {isEnding && <Badge tone="off">{usage.ending}</Badge>}
        </span>
      ),
    },
    ...show.map((id) => ({
      id,
      header: usage[id],
      ...(id !== 'user' && { from: 'md' as const }),
      cell: (row: RunningRequest) => <span className="foreign">{NAMED[id](row) ?? '–'}</span>,
    })),
  ];
}

function figureColumns({ usage }: Words, at: string): Column<RunningRequest>[] {
  return [
    {
      id: 'seconds',
      header: usage.running,
      align: 'right',
      cell: ({ started_at: startedAt }) => (
        <Duration ms={Math.max(0, Date.parse(at) - Date.parse(startedAt))} />
      ),
    },
    {
      id: 'tokens',
      header: usage.output,
      align: 'right',
      from: 'sm',
      cell: ({ tokens }) => <Count count={tokens} isWhole />,
    },
  ];
}

function endColumn({ usage }: Words, onEnd: (row: RunningRequest) => void): Column<RunningRequest> {
  return {
    id: 'end',
    header: '',
    align: 'right',
    cell: (row) => (
      <Button size="small" onClick={() => onEnd(row)}>
        {usage.end}
      </Button>
    ),
  };
}
