import { lazy, Suspense } from 'react';
import type { RequestsQuestion, UsageFilter } from '../../api/usage.ts';
import type { TimeRange } from '../../api/range-bounds.ts';
import { Segments } from '../../ui/tables/segments.tsx';
import { useWords } from '../../words/words.ts';
import { OutcomeFilter } from './named-filter.tsx';
import { RequestsPanel } from './requests-panel.tsx';
import type { RequestColumn } from './requests-table.tsx';
import type { RequestList } from './usage-search.ts';

// Few visits show these: the first view of a page is lighter without them.
const RefusedPanel = lazy(async () => ({
  default: (await import('./refused-panel.tsx')).RefusedPanel,
}));
const RunningPanel = lazy(async () => ({
  default: (await import('./running-panel.tsx')).RunningPanel,
}));

const LISTS = ['all', 'failed', 'refused', 'running'] as const;

/** Holds what a reader has chosen: of the address, or of a tab. */
export interface RequestsChoice {
  list: RequestList;
  outcome?: RequestsQuestion['outcome'];
  cursor?: string | undefined;
}

interface RequestsSectionProps {
  filter: UsageFilter;
  range: TimeRange;
  choice: RequestsChoice;
  onChange: (patch: Readonly<Partial<Record<keyof RequestsChoice, string | undefined>>>) => void;
  show: readonly RequestColumn[];
}

/** Shows the requests of a filter: all, those that failed, those that were refused, or those that run. */
export function RequestsSection({ filter, range, choice, onChange, show }: RequestsSectionProps) {
  const { list, cursor, outcome } = choice;
  const onCursor = (next: string | undefined): void => onChange({ cursor: next });
  const choose = (
    <ListChoice
      value={list}
      onChange={(value) => onChange({ list: value, outcome: undefined, cursor: undefined })}
    />
  );
  if (list === 'running')
    return (
      <Suspense fallback={null}>
        <RunningPanel userId={filter.user_id} show={show} actions={choose} />
      </Suspense>
    );
  if (list === 'refused')
    return (
      <Suspense fallback={null}>
        <RefusedPanel {...{ filter, range, cursor, onCursor, show }} actions={choose} />
      </Suspense>
    );
  const narrowed = list === 'failed' ? { is_completed: 'false' as const } : { outcome };
  return (
    <RequestsPanel
      {...{ range, cursor, onCursor, show }}
      filter={{ ...filter, ...narrowed }}
      actions={
        <>
          {choose}
          {list === 'all' && (
            <OutcomeFilter
              value={outcome}
              onChange={(value) => onChange({ outcome: value, cursor: undefined })}
            />
          )}
        </>
      }
    />
  );
}

function ListChoice({
  value,
  onChange,
}: {
  value: RequestList;
  onChange: (value: RequestList) => void;
}) {
  const { usage } = useWords();
  return (
    <Segments
      label={usage.list}
      value={value}
      onChange={onChange}
      options={LISTS.map((list) => ({ value: list, label: usage.lists[list] }))}
    />
  );
}
