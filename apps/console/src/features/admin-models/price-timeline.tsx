import { CHARGED_CLASSES, weightOf, type TokenClass } from '../../api/tables.ts';
import type { Price } from '../../api/catalogue.ts';
import { Badge } from '../../ui/badge.tsx';
import { Money } from '../../ui/figures.tsx';
import { EmptyState } from '../../ui/states.tsx';
import { Table, type Column } from '../../ui/tables/table.tsx';
import { Exact } from '../../ui/time/time.tsx';
import { useSpeech, useWords, type Speech } from '../../words/words.ts';
import { tiersInWords } from '../market/weights.tsx';

/** Shows the price versions, newest first, and says which one is in force, which are planned and which are past. */
export function PriceTimeline({
  rows,
  inForce,
}: {
  rows: readonly Price[];
  inForce: Price | undefined;
}) {
  const speech = useSpeech();
  const { models } = speech.words.admin;

  return (
    <Table
      label={models.prices}
      columns={columnsOf(speech, rows, inForce)}
      rows={rows}
      rowId={({ id }) => id}
      empty={<EmptyState title={models.noPrice} />}
    />
  );
}

function columnsOf(
  speech: Speech,
  rows: readonly Price[],
  inForce: Price | undefined,
): Column<Price>[] {
  const { tables, admin } = speech.words;
  const { models } = admin;
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
    ...CHARGED_CLASSES.filter(
      ({ name, is_optional: isOptional }) =>
        !isOptional || rows.some((price) => price[weightOf(name)] !== null),
    ).map(({ name }) => weight(name, tables.classes[name])),
    ...(rows.some(({ tiers }) => tiers.length > 0) ? [tiersColumn(speech)] : []),
  ];
}

function tiersColumn(speech: Speech): Column<Price> {
  return {
    id: 'tiers',
    header: speech.words.admin.models.tiers,
    from: 'md',
    cell: ({ tiers }) => (tiers.length === 0 ? '–' : tiersInWords(tiers, speech).join(' · ')),
  };
}

function weight(name: TokenClass, header: string): Column<Price> {
  return {
    id: name,
    header,
    align: 'right',
    from: 'md',
    cell: (price) => <span className="tabular">{price[weightOf(name)] ?? '–'}</span>,
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
