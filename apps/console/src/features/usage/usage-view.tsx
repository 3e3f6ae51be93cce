import { useQuery } from '@tanstack/react-query';
import { Download } from '../../ui/icons.tsx';
import { useRef } from 'react';
import { exportAddress } from '../../api/client.ts';
import { useLive } from '../../api/events/stream.ts';
import { statisticsQuery, type UsageFilter } from '../../api/usage.ts';
import { DownloadLink } from '../../ui/download-link.tsx';
import { Freshness } from '../../ui/time/freshness.tsx';
import { Page as Frame, Panel } from '../../ui/page.tsx';
import type { Search } from '../../search.ts';
import { boundsOf } from '../../api/range-bounds.ts';
import { Segments } from '../../ui/tables/segments.tsx';
import { Loaded, Skeleton } from '../../ui/states.tsx';
import { TimeRangePicker, useRangeChange, useTimeRange } from '../../ui/time/time-range.tsx';
import { useWords } from '../../words/words.ts';
import { FilterBar } from './filter-bar.tsx';
import { RequestsSection } from './requests-section.tsx';
import { TotalsTable } from './totals-table.tsx';
import { isLatency, MEASURES, UsageChart, type Measure } from './usage-chart.tsx';
import { filterOf, groupOf, useUsageSearch, type UsageSearch } from './usage-search.ts';

/** Shows the chart, its table and the requests of one account, or of all accounts when `ownerId` is undefined. */
export function UsageView({ ownerId }: { ownerId: number | undefined }) {
  const { usage } = useWords();
  const [address, change] = useUsageSearch();
  const search = { ...address, group: groupOf(address, ownerId) };
  const range = useTimeRange();
  const list = useRef<HTMLDivElement>(null);
  const filter = filterOf(search, ownerId);
  return (
    <Frame
      title={usage.title}
      purpose={ownerId === undefined ? usage.purposeAll : usage.purpose}
      actions={
        <RequestsExport question={{ ...filter, outcome: search.outcome, ...boundsOf(range) }} />
      }
      bar={
        <>
          <TimeRangePicker />
          <FilterBar search={search} onChange={change} ownerId={ownerId} />
        </>
      }
    >
      <ChartPanel
        search={search}
        onShow={(show) => change({ show })}
        filter={filter}
        onPick={() => list.current?.scrollIntoView({ behavior: 'smooth' })}
      />
      <div ref={list} className="scroll-mt-4">
        <UsageRequests search={search} onChange={change} ownerId={ownerId} />
      </div>
    </Frame>
  );
}

interface UsageRequestsProps {
  search: UsageSearch;
  onChange: (patch: Search) => void;
  ownerId: number | undefined;
}

const OF_ACCOUNT = ['key'] as const;
const OF_ALL = ['user', 'upstream', 'node'] as const;

function UsageRequests({ search, onChange, ownerId }: UsageRequestsProps) {
  return (
    <RequestsSection
      filter={filterOf(search, ownerId)}
      range={useTimeRange()}
      choice={search}
      onChange={onChange}
      show={ownerId === undefined ? OF_ALL : OF_ACCOUNT}
    />
  );
}

function RequestsExport({ question }: { question: Parameters<typeof exportAddress>[1] }) {
  const { general } = useWords();
  return (
    <DownloadLink
      href={exportAddress('/admin-api/usage/logs', question)}
      icon={<Download aria-hidden className="size-4" />}
    >
      {general.exportCsv}
    </DownloadLink>
  );
}

interface ChartPanelProps {
  search: UsageSearch;
  onShow: (measure: Measure) => void;
  filter: UsageFilter;
  onPick: () => void;
}

/** Shows the chart and, below it, its figures as a table. */
function ChartPanel({ search, onShow, filter, onPick }: ChartPanelProps) {
  const { usage } = useWords();
  const zoom = useRangeChange();
  const grouped = useGrouped(filter, search);
  return (
    <Panel
      title={usage.measures[search.show]}
      note={<Freshness of={grouped} />}
      actions={<MeasureChoice value={search.show} onChange={onShow} />}
    >
      <Loaded of={grouped} skeleton={<Skeleton rows={8} className="h-[228px]" />}>
        {(statistics) => (
          <UsageChart
            of={statistics}
            measure={search.show}
            onZoom={zoom}
            onPick={(from, to) => {
              zoom(from, to);
              onPick();
            }}
          />
        )}
      </Loaded>
      {grouped.data && grouped.data.data.length > 0 && !isLatency(search.show) && (
        <div className="-mx-4 mt-3 -mb-4 border-t border-line">
          <TotalsTable of={grouped.data} />
        </div>
      )}
    </Panel>
  );
}

function useGrouped(filter: UsageFilter, { show, group }: Pick<UsageSearch, 'show' | 'group'>) {
  const range = useTimeRange();
  return useQuery({
    ...statisticsQuery({ ...filter, group_by: isLatency(show) ? undefined : group }, range),
    ...useLive(),
  });
}

interface MeasureChoiceProps {
  value: Measure;
  onChange: (measure: Measure) => void;
}

function MeasureChoice({ value, onChange }: MeasureChoiceProps) {
  const { usage } = useWords();
  return (
    <Segments
      label={usage.measure}
      value={value}
      onChange={onChange}
      options={MEASURES.map((measure) => ({
        value: measure,
        label: usage.measures[measure],
      }))}
    />
  );
}
