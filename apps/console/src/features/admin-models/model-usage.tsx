import { useQuery } from '@tanstack/react-query';
import type { Model } from '../../api/catalogue.ts';
import { modelRemovalPreviewQuery } from '../../api/previews.ts';
import { statisticsQuery, topQuery, type UsageTop } from '../../api/usage.ts';
import { paths } from '../../paths.ts';
import { Count, Money } from '../../ui/figures.tsx';
import { TextLink } from '../../ui/forms/button.tsx';
import { formatCount, formatPercent } from '../../ui/format.ts';
import { Panel } from '../../ui/page.tsx';
import { EmptyState, Loaded } from '../../ui/states.tsx';
import { Table, type Column } from '../../ui/tables/table.tsx';
import { Tile, Tiles } from '../../ui/tile.tsx';
import { TimeRangePicker, useRangeChange, useTimeRange } from '../../ui/time/time-range.tsx';
import { useSpeech, type Speech } from '../../words/words.ts';
import { UsageChart } from '../usage/usage-chart.tsx';
import { MODEL_USAGE_WORDS } from './model-usage-words.ts';

const SHOWN = 5;

/** Shows what a model is used for: how much, by whom, and what that is worth. */
export function ModelUsage({ of: model }: { of: Model }) {
  const { words, language } = useSpeech();
  const range = useTimeRange();
  const zoom = useRangeChange();
  const statistics = useQuery(statisticsQuery({ model_id: model.id }, range));
  const top = useQuery(
    topQuery({ group_by: 'user', by: 'spend', model_id: model.id, limit: SHOWN }, range),
  );
  return (
    <>
      <div className="flex">
        <TimeRangePicker />
      </div>
      <ModelTiles of={model} top={top.data} />
      <Panel title={words.usage.measures.charge}>
        <Loaded of={statistics}>
          {(found) => <UsageChart of={found} measure="charge" onZoom={zoom} />}
        </Loaded>
      </Panel>
      <Panel title={MODEL_USAGE_WORDS[language].topUsers} isFlush>
        <Loaded of={top}>{(found) => <TopUsers of={found} />}</Loaded>
      </Panel>
    </>
  );
}

function ModelTiles({ of: model, top }: { of: Model; top: UsageTop | undefined }) {
  const { words, locale, language } = useSpeech();
  const { overview } = words.admin;
  const models = MODEL_USAGE_WORDS[language];
  const { data: held } = useQuery(modelRemovalPreviewQuery(model.id));
  const total = top?.total;
  const share = total && total.requests > 0 ? total.errors / total.requests : 0;
  return (
    <Tiles>
      <Tile
        label={words.usage.requests}
        figure={total ? <Count count={total.requests} /> : '–'}
        note={total && overview.errorShare(formatPercent(share, locale))}
      />
      <Tile
        label={words.usage.charge}
        figure={total ? <Count count={total.charge} /> : '–'}
        note={total && models.activeUsers(formatCount(total.groups, locale))}
      />
      <Tile
        label={models.worth}
        figure={top ? <Money amount={top.total.spend} currency={top.currency} /> : '–'}
      />
      <Tile
        label={models.subscribers}
        figure={held ? <Count count={held.subscriptions} /> : '–'}
        note={held && models.holds(formatCount(held.refunded_tokens, locale))}
      />
    </Tiles>
  );
}

type Row = Omit<UsageTop['data'][number], 'id'> & {
  /** Is null for all others together. */
  id: number | null;
};

function TopUsers({ of: top }: { of: UsageTop }) {
  const speech = useSpeech();
  const models = MODEL_USAGE_WORDS[speech.language];
  const { groups, ...rest } = top.other;
  const others = { ...rest, id: null, name: models.others(formatCount(groups, speech.locale)) };
  const rows: Row[] = groups > 0 ? [...top.data, others] : top.data;
  return (
    <Table
      label={models.topUsers}
      columns={topColumns(speech, top.currency)}
      rows={rows}
      rowId={({ id }) => id ?? 'others'}
      empty={<EmptyState title={models.noUsage} />}
    />
  );
}

function topColumns({ words, language }: Speech, currency: string): Column<Row>[] {
  const { users } = words.admin;
  return [
    {
      id: 'user',
      header: users.name,
      cell: ({ id, name }) =>
        id === null ? (
          name
        ) : (
          <TextLink to={paths.adminUser(id)} className="foreign">
            {name ?? String(id)}
          </TextLink>
        ),
    },
    {
      id: 'requests',
      header: words.usage.requests,
      align: 'right',
      from: 'sm',
      cell: ({ requests }) => <Count count={requests} isWhole />,
    },
    {
      id: 'charge',
      header: words.usage.charge,
      align: 'right',
      cell: ({ charge }) => <Count count={charge} isWhole />,
    },
    {
      id: 'worth',
      header: MODEL_USAGE_WORDS[language].worth,
      align: 'right',
      cell: ({ spend }) => <Money amount={spend} currency={currency} />,
    },
  ];
}
