import { useQuery } from '@tanstack/react-query';
import { Boxes } from '../../ui/icons.tsx';
import { useState } from 'react';
import { marketQuery, subscriptionsQuery, type MarketModel } from '../../api/models.ts';
import { walletQuery } from '../../api/wallet.ts';
import { useMe } from '../../api/session.ts';
import { useLive } from '../../api/stream.ts';
import { SelectFilter } from '../../ui/field.tsx';
import { Page as Frame } from '../../ui/page.tsx';
import { SearchBox } from '../../ui/search-box.tsx';
import { optional, useSearchState, withDefault, z, type SearchOf } from '../../ui/search-state.ts';
import { EmptyState, Loaded } from '../../ui/states.tsx';
import { useWords } from '../../words/words.ts';
import { NextStep } from '../overview/next-step.tsx';
import { BuyDialog, type BuyTarget } from './buy-dialog.tsx';
import { ModelCard } from './model-card.tsx';
import { firstStepsQuery } from '../../api/usage.ts';
import type { Prefetch } from '../../page-module.ts';

const search = z.object({
  q: withDefault(z.string(), ''),
  kind: optional(z.enum(['chat', 'embedding'])),
});

const questionOf = ({ q, kind }: SearchOf<typeof search>) => ({
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
  const [{ q, kind }, change] = useSearchState(search);
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
      bar={
        <>
          <SearchBox label={market.search} value={q} onSearch={(text) => change({ q: text })} />
          <SelectFilter
            label={market.allKinds}
            value={kind ?? ''}
            onChange={(value) => change({ kind: value })}
            options={[
              { value: '', label: market.allKinds },
              { value: 'chat', label: market.kinds.chat },
              { value: 'embedding', label: market.kinds.embedding },
            ]}
          />
        </>
      }
    >
      <NextStep />
      <Loaded of={list}>
        {({ data }) =>
          data.length === 0 ? (
            <EmptyState
              icon={<Boxes aria-hidden />}
              title={q === '' && kind === undefined ? market.emptyTitle : market.noMatch}
            >
              {q === '' && kind === undefined ? market.emptyText : undefined}
            </EmptyState>
          ) : (
            <ul className="grid grid-cols-[repeat(auto-fill,minmax(min(340px,100%),1fr))] gap-3">
              {data.map((model) => (
                <li key={model.id}>
                  <ModelCard
                    model={model}
                    subscription={subscriptions.get(model.id)}
                    onBuy={() => buy(model)}
                  />
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
      <BuyDialog target={target} userId={me.id} onClose={() => setTarget(undefined)} />
    </Frame>
  );
}
