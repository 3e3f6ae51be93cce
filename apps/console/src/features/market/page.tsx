import { useQuery } from '@tanstack/react-query';
import { Boxes } from '../../ui/icons.tsx';
import { useState } from 'react';
import {
  marketQuery,
  subscriptionsQuery,
  type MarketModel,
  type MyModel,
} from '../../api/models.ts';
import { walletQuery } from '../../api/wallet.ts';
import { useMe } from '../../api/session.ts';
import { useLive } from '../../api/events/stream.ts';
import { SelectFilter } from '../../ui/tables/select-filter.tsx';
import { Page as Frame } from '../../ui/page.tsx';
import { Pager } from '../../ui/tables/pager.tsx';
import { SearchBox } from '../../ui/tables/search-box.tsx';
import {
  optional,
  pageNumber,
  useSearchState,
  withDefault,
  z,
  type SearchOf,
} from '../../ui/tables/search-state.ts';
import { EmptyState, Loaded } from '../../ui/states.tsx';
import type { Search } from '../../search.ts';
import { useWords } from '../../words/words.ts';
import { NextStep } from '../first-steps/next-step.tsx';
import { SandboxNote } from '../wallet/sandbox-note.tsx';
import { BuyDialog, type BuyTarget } from './buy-dialog.tsx';
import { ModelCard } from './model-card.tsx';
import { firstStepsQuery } from '../../api/usage.ts';
import type { Prefetch } from '../../page-module.ts';

const search = z.object({
  q: withDefault(z.string(), ''),
  kind: optional(z.enum(['chat', 'embedding'])),
  part: pageNumber,
});
/** A part has this many cards. */
const PART = 24;

const questionOf = ({ q, kind }: Pick<SearchOf<typeof search>, 'q' | 'kind'>) => ({
  ...(q !== '' && { q }),
  ...(kind !== undefined && { kind }),
});

export const prefetch: Prefetch = (ask, { me, search: raw }) => {
  ask(marketQuery(questionOf(search.parse(raw))));
  ask(subscriptionsQuery(me.id));
  ask(firstStepsQuery);
  ask(walletQuery(me.id));
};

export function Page() {
  const { market } = useWords();
  const me = useMe();
  const [{ q, kind, part }, change] = useSearchState(search);
  const list = useQuery(marketQuery(questionOf({ q, kind })));
  const { data: mine } = useQuery({ ...subscriptionsQuery(me.id), ...useLive() });
  const [target, setTarget] = useState<BuyTarget>();
  const subscriptions = new Map((mine ?? []).map((row) => [row.model_id, row] as const));
  const buy = ({ id, name, price }: MarketModel): void => {
    if (price) setTarget({ modelId: id, model: name, price, isSubscribed: subscriptions.has(id) });
  };
  return (
    <Frame
      title={market.title}
      purpose={market.purpose}
      bar={<MarketBar q={q} kind={kind} onChange={change} />}
    >
      <SandboxNote />
      <NextStep />
      <Loaded of={list}>
        {({ data }) =>
          data.length === 0 ? (
            <NoModels isFiltered={q !== '' || kind !== undefined} />
          ) : (
            <ModelGrid
              models={data}
              part={part}
              onPart={(to) => change({ part: to === 1 ? undefined : to })}
              subscriptions={subscriptions}
              onBuy={buy}
            />
          )
        }
      </Loaded>
      <BuyDialog target={target} userId={me.id} onClose={() => setTarget(undefined)} />
    </Frame>
  );
}

interface ModelGridProps {
  models: readonly MarketModel[];
  part: number;
  onPart: (part: number) => void;
  subscriptions: ReadonlyMap<number, MyModel>;
  onBuy: (model: MarketModel) => void;
}

function ModelGrid({ models, part, onPart, subscriptions, onBuy }: ModelGridProps) {
  const shown = Math.min(part, Math.ceil(models.length / PART));
  return (
    <>
      <ul className="grid grid-cols-[repeat(auto-fill,minmax(min(340px,100%),1fr))] gap-3">
        {models.slice((shown - 1) * PART, shown * PART).map((model) => (
          <li key={model.id}>
            <ModelCard
              model={model}
              subscription={subscriptions.get(model.id)}
              onBuy={() => onBuy(model)}
            />
          </li>
        ))}
      </ul>
      {models.length > PART && (
        <Pager page={shown} pageSize={PART} total={models.length} onPage={onPart} />
      )}
    </>
  );
}

function NoModels({ isFiltered }: { isFiltered: boolean }) {
  const { market } = useWords();
  return (
    <EmptyState
      icon={<Boxes aria-hidden />}
      title={isFiltered ? market.noMatch : market.emptyTitle}
    >
      {isFiltered ? undefined : market.emptyText}
    </EmptyState>
  );
}

interface MarketBarProps extends Pick<SearchOf<typeof search>, 'q' | 'kind'> {
  onChange: (patch: Search) => void;
}

function MarketBar({ q, kind, onChange }: MarketBarProps) {
  const { market } = useWords();
  return (
    <>
      <SearchBox label={market.search} value={q} onSearch={(text) => onChange({ q: text })} />
      <SelectFilter
        label={market.allKinds}
        value={kind ?? ''}
        onChange={(value) => onChange({ kind: value })}
        options={[
          { value: '', label: market.allKinds },
          { value: 'chat', label: market.kinds.chat },
          { value: 'embedding', label: market.kinds.embedding },
        ]}
      />
    </>
  );
}
