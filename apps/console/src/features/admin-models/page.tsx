import { useQuery } from '@tanstack/react-query';
import { Boxes, Plus } from '../../ui/icons.tsx';
import { useState } from 'react';
import { catalogueQuery, pricesInForceQuery, type Model, type Price } from '../../api/catalogue.ts';
import { installationStepsQuery } from '../../api/admin.ts';
import { paths } from '../../paths.ts';
import { Button, TextLink } from '../../ui/forms/button.tsx';
import { SelectFilter } from '../../ui/tables/select-filter.tsx';
import { Count, Money } from '../../ui/figures.tsx';
import { formatCount } from '../../ui/format.ts';
import { Page as Frame, Panel } from '../../ui/page.tsx';
import { SearchBox } from '../../ui/tables/search-box.tsx';
import {
  optional,
  useSearchState,
  withDefault,
  z,
  type SearchOf,
} from '../../ui/tables/search-state.ts';
import { EmptyState, Loaded } from '../../ui/states.tsx';
import { FoldedTable } from '../../ui/tables/folded-table.tsx';
import type { Column } from '../../ui/tables/table.tsx';
import { useSpeech, useWords, type Words } from '../../words/words.ts';
import { BulkBar } from '../bulk/bulk-bar.tsx';
import { useChosen } from '../bulk/use-chosen.tsx';
import { ChangePricesDialog } from './change-prices.tsx';
import { CreateModelDialog } from './model-dialogs.tsx';
import { ShelfBadge } from './shelf-badge.tsx';
import { inOrder, SORTS, type Prices } from './in-order.ts';
import { NextInstallationStep } from '../admin-overview/installation-steps.tsx';
import type { Search } from '../../search.ts';
import type { Prefetch } from '../../page-module.ts';

const search = z.object({
  sort: withDefault(z.enum(SORTS), 'name'),
  q: withDefault(z.string(), ''),
  shelf: optional(z.enum(['true', 'false'])),
  create: optional(z.literal('1')),
});

/** The list is here whole, so that a search waits for nothing. */
function isShown(
  { name, display_name: title, owned_by: owner, is_on_shelf: isOnShelf }: Model,
  { q, shelf }: Pick<SearchOf<typeof search>, 'q' | 'shelf'>,
): boolean {
  const isFound = `${name}\n${title}\n${owner}`.toLowerCase().includes(q.trim().toLowerCase());
  return isFound && (shelf === undefined || String(isOnShelf) === shelf);
}

export const prefetch: Prefetch = (ask) => {
  ask(catalogueQuery);
  ask(pricesInForceQuery);
  ask(installationStepsQuery);
};

export function Page() {
  const { admin } = useWords();
  const { models } = admin;
  const [{ q, shelf, sort, create }, change] = useSearchState(search);
  const [isCreating, setCreating] = useState(create === '1');
  const list = useQuery(catalogueQuery);
  const shown = (list.data?.data ?? []).filter((model) => isShown(model, { q, shelf }));
  const close = (): void => {
    setCreating(false);
    change({ create: undefined });
  };
  const add = <AddButton onAdd={() => setCreating(true)} />;
  return (
    <Frame
      title={models.title}
      purpose={models.purpose}
      actions={<Acts models={shown} add={add} />}
      bar={<Filters q={q} shelf={shelf} onChange={change} />}
    >
      <NextInstallationStep />
      <Panel isFlush>
        <Loaded of={list}>
          {() => (
            <ModelsTable
              rows={shown}
              sort={sort}
              onSort={(next) => change({ sort: next })}
              isGrouped={q.trim() === '' && sort === 'name'}
              empty={<NoModels isFiltered={q !== '' || shelf !== undefined} action={add} />}
            />
          )}
        </Loaded>
      </Panel>
      <CreateModelDialog isOpen={isCreating} onClose={close} />
    </Frame>
  );
}

function Acts({ models, add }: { models: readonly Model[]; add: React.ReactNode }) {
  const words = useWords().admin.models;
  const [isPricing, setPricing] = useState(false);
  return (
    <>
      <Button onClick={() => setPricing(true)}>{words.changePrices}</Button>
      {add}
      <ChangePricesDialog of={models} isOpen={isPricing} onClose={() => setPricing(false)} />
    </>
  );
}

function AddButton({ onAdd }: { onAdd: () => void }) {
  const { models } = useWords().admin;
  return (
    <Button look="primary" icon={<Plus aria-hidden className="size-4" />} onClick={onAdd}>
      {models.add}
    </Button>
  );
}

function NoModels({ isFiltered, action }: { isFiltered: boolean; action: React.ReactNode }) {
  const { admin } = useWords();
  const { models } = admin;
  if (isFiltered) return <EmptyState title={models.noMatch} />;
  return (
    <EmptyState icon={<Boxes aria-hidden />} title={models.empty} action={action}>
      {models.emptyText}
    </EmptyState>
  );
}

interface FiltersProps extends Pick<SearchOf<typeof search>, 'q' | 'shelf'> {
  onChange: (patch: Search) => void;
}

function Filters({ q, shelf, onChange }: FiltersProps) {
  const { models } = useWords().admin;
  return (
    <>
      <SearchBox label={models.search} value={q} onSearch={(text) => onChange({ q: text })} />
      <ShelfFilter value={shelf} onChange={(value) => onChange({ shelf: value })} />
    </>
  );
}

function ShelfFilter({
  value,
  onChange,
}: {
  value: string | undefined;
  onChange: (value: string) => void;
}) {
  const { admin } = useWords();
  const { models } = admin;
  return (
    <SelectFilter
      label={models.shelf}
      value={value ?? ''}
      onChange={onChange}
      options={[
        { value: '', label: models.all },
        { value: 'true', label: models.onShelf },
        { value: 'false', label: models.offShelf },
      ]}
    />
  );
}

/** Shows what a million charged tokens cost now, or would if the model were for sale. */
function ModelPrice({ of: price }: { of: Price | undefined }) {
  const { market } = useWords();
  if (!price) return '–';
  if (price.free) return market.free;
  return <Money amount={price.price_per_million} currency={price.currency} />;
}

const ACTS = ['models.sell', 'models.withdraw'] as const;

function ModelsTable({
  rows,
  sort,
  onSort,
  isGrouped,
  empty,
}: {
  rows: readonly Model[];
  sort: string;
  onSort: (sort: string) => void;
  isGrouped: boolean;
  empty: React.ReactNode;
}) {
  const words = useWords();
  const { models } = words.admin;
  const { data: inForce } = useQuery(pricesInForceQuery);
  const prices = new Map(inForce?.data.map((price) => [price.model_id, price]));
  const { column, ...chosen } = useChosen<Model>(({ name }) => name);
  return (
    <>
      <BulkBar {...chosen} acts={ACTS} shown={rows.map(({ id }) => id)} />
      <FoldedTable
        label={models.title}
        columns={[column, ...columnsOf(words, prices)]}
        rows={inOrder(rows, sort, prices)}
        sort={sort}
        onSort={onSort}
        rowId={({ id }) => id}
        rowTo={({ id }) => paths.adminModel(id)}
        empty={empty}
        groupOf={isGrouped ? ({ owned_by: owner }) => owner : undefined}
        head={({ name, rows: of }) => <OwnerHead name={name} of={of} />}
      />
    </>
  );
}

/** Shows how many models of an owner are for sale. */
function OwnerHead({ name, of }: { name: string; of: readonly Model[] }) {
  const { words, locale } = useSpeech();
  const sold = of.filter(({ is_on_shelf: isOnShelf }) => isOnShelf).length;
  return (
    <>
      <span className="foreign font-medium">{name}</span>
      <span className="text-text-3">{words.admin.models.sold(formatCount(sold, locale))}</span>
    </>
  );
}

function columnsOf({ admin: { models } }: Words, prices: Prices): Column<Model>[] {
  return [
    {
      id: 'name',
      sort: 'name',
      header: models.name,
      cell: (model) => (
        <>
          <TextLink to={paths.adminModel(model.id)} className="foreign">
            {model.name}
          </TextLink>
          {model.display_name !== model.name && (
            <span className="foreign block text-tiny text-text-3">{model.display_name}</span>
          )}
        </>
      ),
    },
    { id: 'shelf', header: models.shelf, cell: (model) => <ShelfBadge of={model} /> },
    {
      id: 'price',
      sort: 'price',
      header: models.price,
      align: 'right',
      cell: ({ id }) => <ModelPrice of={prices.get(id)} />,
    },
    { id: 'kind', header: models.kind, from: 'md', cell: ({ kind }) => models.kinds[kind] },
    ...limitColumns(models),
    {
      id: 'output',
      sort: 'output',
      header: models.maxOutput,
      align: 'right',
      from: 'md',
      cell: ({ max_output_tokens: count }) => (count === null ? '–' : <Count count={count} />),
    },
  ];
}

function limitColumns(models: Words['admin']['models']): Column<Model>[] {
  return [
    {
      id: 'owner',
      header: models.ownedBy,
      from: 'lg',
      cell: ({ owned_by: owner }) => <span className="foreign">{owner}</span>,
    },
    {
      id: 'context',
      sort: 'context',
      header: models.context,
      align: 'right',
      from: 'md',
      cell: ({ context_window: count }) => (count === null ? '–' : <Count count={count} />),
    },
  ];
}
