import { useQuery } from '@tanstack/react-query';
import { BellOff } from '../../ui/icons.tsx';
import { ADMIN_PAGE_SIZE, alertsQuery, type Alert } from '../../api/admin.ts';
import { useLive } from '../../api/events/stream.ts';
import { pathOfRecord } from '../../paths.ts';
import { TextLink } from '../../ui/forms/button.tsx';
import { Freshness } from '../../ui/time/freshness.tsx';
import { Page as Frame, Panel } from '../../ui/page.tsx';
import { Paged } from '../../ui/tables/paged.tsx';
import { pageNumber, useSearchState, withDefault, z } from '../../ui/tables/search-state.ts';
import { Segments } from '../../ui/tables/segments.tsx';
import { EmptyState } from '../../ui/states.tsx';
import { Table, type Column } from '../../ui/tables/table.tsx';
import { Ago } from '../../ui/time/time.tsx';
import { ALERT_SENTENCES } from '../../words/alert-sentences.ts';
import { useSpeech, useWords, type Speech } from '../../words/words.ts';
import { alertSentence } from './alert-sentence.ts';
import { SeverityBadge } from './severity.tsx';
import type { Prefetch } from '../../page-module.ts';

const search = z.object({
  status: withDefault(z.enum(['open', 'resolved']), 'open'),
  page: pageNumber,
});

export const prefetch: Prefetch = (ask, { search: raw }) => {
  const { page, status } = search.parse(raw);
  ask(alertsQuery({ page, status }));
};

export function Page() {
  const { admin } = useWords();
  const { alerts } = admin;
  const [{ status, page }, change] = useSearchState(search);
  const list = useQuery({ ...alertsQuery({ page, status }), ...useLive() });
  return (
    <Frame
      title={alerts.title}
      purpose={alerts.purpose}
      bar={
        <>
          <StateChoice
            value={status}
            onChange={(value) => change({ status: value, page: undefined })}
          />
          <span className="ml-auto">
            <Freshness of={list} />
          </span>
        </>
      }
    >
      <Panel isFlush>
        <Paged
          of={list}
          page={page}
          pageSize={ADMIN_PAGE_SIZE}
          onPage={(value) => change({ page: value })}
        >
          {(rows) => <AlertsTable rows={rows} empty={<NoAlerts isOpen={status === 'open'} />} />}
        </Paged>
      </Panel>
    </Frame>
  );
}

function NoAlerts({ isOpen }: { isOpen: boolean }) {
  const { alerts } = useWords().admin;
  return isOpen ? (
    <EmptyState icon={<BellOff aria-hidden />} title={alerts.empty}>
      {alerts.emptyText}
    </EmptyState>
  ) : (
    <EmptyState title={alerts.emptyPast} />
  );
}

type AlertState = 'open' | 'resolved';

interface StateChoiceProps {
  value: AlertState;
  onChange: (value: AlertState) => void;
}

function StateChoice({ value, onChange }: StateChoiceProps) {
  const { alerts } = useWords().admin;
  return (
    <Segments
      label={alerts.title}
      value={value}
      options={[
        { value: 'open', label: alerts.open },
        { value: 'resolved', label: alerts.resolved },
      ]}
      onChange={onChange}
    />
  );
}

/** Shows what an alert is about, by its name where it has one, with a way there where it has a page. */
function AlertSubject({
  of: { subject, subject_name: name, subject_user_id: userId, subject_is_gone: isGone },
}: {
  of: Alert;
}) {
  const [kind = '', id] = subject.split(':');
  const to = pathOfRecord({ kind, id, name, userId, isGone });
  return (
    <span className="foreign text-tiny text-text-3" title={subject}>
      {to === undefined ? (name ?? <code>{subject}</code>) : <TextLink to={to}>{name}</TextLink>}
    </span>
  );
}

export function AlertsTable({ rows, empty }: { rows: readonly Alert[]; empty: React.ReactNode }) {
  const speech = useSpeech();
  const { admin } = speech.words;
  const hasEnded = rows.some(({ resolved_at: at }) => at !== null);
  return (
    <Table
      label={admin.alerts.title}
      columns={columnsOf(speech, hasEnded)}
      rows={rows}
      rowId={({ id }) => id}
      empty={empty}
    />
  );
}

function columnsOf({ words, language, locale }: Speech, hasEnded: boolean): Column<Alert>[] {
  const { alerts, findings } = words.admin;
  const ended: Column<Alert> = {
    id: 'ended',
    header: alerts.ended,
    from: 'md',
    cell: ({ resolved_at: at }) => (at === null ? '–' : <Ago at={at} />),
  };
  return [
    {
      id: 'severity',
      header: alerts.severity,
      cell: ({ severity }) => <SeverityBadge of={severity} />,
    },
    {
      id: 'message',
      header: alerts.message,
      cell: (alert) => (
        <>
          <span className="block font-medium">{findings.rules[alert.rule]}</span>
          <span className="foreign line-clamp-2 text-text-2">
            {alertSentence(alert, { sentences: ALERT_SENTENCES[language], locale })}
          </span>
          <AlertSubject of={alert} />
        </>
      ),
    },
    {
      id: 'raised',
      header: alerts.raised,
      from: 'sm',
      cell: ({ raised_at: at }) => <Ago at={at} />,
    },
    ...(hasEnded ? [ended] : []),
  ];
}
