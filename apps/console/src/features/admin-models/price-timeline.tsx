import type { Price } from '../../api/catalogue.ts';
import { Badge } from '../../ui/badge.tsx';
import { Money } from '../../ui/figures.tsx';
import { EmptyState } from '../../ui/states.tsx';
import { Table, type Column } from '../../ui/tables/table.tsx';
import { Exact } from '../../ui/time/time.tsx';
import { useWords, type Words } from '../../words/words.ts';

/** Price versions, newest first; which one is in force, which are planned, which are past. */
export function PriceTimeline({
  rows,
  inForce,
}: {
  rows: readonly Price[];
  inForce: Price | undefined;
}) {
  const { admin } = useWords();
  const { models } = admin;

  return (
    <Table
      label={models.prices}
      columns={columnsOf(models, rows, inForce)}
      rows={rows}
      rowId={({ id }) => id}
      empty={<EmptyState title={models.noPrice} />}
    />
  );
}

function columnsOf(
  models: Words['admin']['models'],
  rows: readonly Price[],
  inForce: Price | undefined,
): Column<Price>[] {
  return [
    {
      id: 'state',
      header: models.shelf,
      cell: (price) => <PriceState of={price} inForce={inForce} />,
    },
    { id: 'from', header: models.from, cell: ({ effective_at: at }) => <Exact at={at} /> },
    {
      id: 'price',
      header: models.price,
      align: 'right',
      cell: ({ price_per_million: amount, currency }) => (
        <Money amount={amount} currency={currency} />
      ),
    },
    weight('input', models.weightInput, (price) => price.weight_input),
    weight('output', models.weightOutput, (price) => price.weight_output),
    weight('read', models.weightCacheRead, (price) => price.weight_cache_read),
    weight('write', models.weightCacheWrite, (price) => price.weight_cache_write),
    ...(rows.some(hasOptionalWeight)
      ? [
          weight('write1h', models.weightCacheWrite1h, (price) => price.weight_cache_write_1h),
          weight('audioIn', models.weightAudioInput, (price) => price.weight_audio_input),
          weight('audioOut', models.weightAudioOutput, (price) => price.weight_audio_output),
        ]
      : []),
  ];
}

function weight(id: string, header: string, pick: (price: Price) => string | null): Column<Price> {
  return {
    id,
    header,
    align: 'right',
    from: 'md',
    cell: (price) => <span className="tabular">{pick(price) ?? '–'}</span>,
  };
}

function PriceState({ of: price, inForce }: { of: Price; inForce: Price | undefined }) {
  const { models } = useWords().admin;
  if (price.id === inForce?.id) return <Badge tone="good">{models.inForce}</Badge>;
  const isPlanned =
    inForce === undefined || Date.parse(price.effective_at) > Date.parse(inForce.effective_at);
  return isPlanned ? (
    <Badge tone="accent">{models.planned}</Badge>
  ) : (
    <Badge tone="off">{models.past}</Badge>
  );
}

function hasOptionalWeight(price: Price): boolean {
  return [price.weight_cache_write_1h, price.weight_audio_input, price.weight_audio_output].some(
    (weight) => weight !== null,
  );
}
