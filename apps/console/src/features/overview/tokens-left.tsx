import type { UseQueryResult } from '@tanstack/react-query';
import type { MyModel } from '../../api/models.ts';
import { useMe } from '../../api/session.ts';
import { paths } from '../../paths.ts';
import { ButtonLink, TextLink } from '../../ui/forms/button.tsx';
import { Count } from '../../ui/figures.tsx';
import { Panel } from '../../ui/page.tsx';
import { EmptyState, Loaded } from '../../ui/states.tsx';
import { useWords } from '../../words/words.ts';
import { BalanceGauge } from '../subscription/balance-gauge.tsx';
import { useUsedInDay } from './use-day.ts';

/** Shows a gauge for each model, with how long it lasts. */
export function TokensLeft({ of: subscriptions }: { of: UseQueryResult<MyModel[]> }) {
  const { overview, market } = useWords();
  const me = useMe();
  const used = useUsedInDay(me.id);
  return (
    <Panel
      title={overview.tokensLeft}
      actions={<TextLink to={paths.market()}>{overview.allModels}</TextLink>}
    >
      <Loaded of={subscriptions}>
        {(rows) =>
          rows.length === 0 ? (
            <EmptyState
              title={overview.noSubscription}
              action={<ButtonLink to={paths.market()}>{market.subscribe}</ButtonLink>}
            >
              {overview.noSubscriptionText}
            </EmptyState>
          ) : (
            <ul className="grid grid-cols-[repeat(auto-fill,minmax(min(280px,100%),1fr))] gap-x-8 gap-y-5">
              {rows.map((row) => (
                <ModelBalance key={row.id} of={row} usedInDay={used.get(row.model_id) ?? 0} />
              ))}
            </ul>
          )
        }
      </Loaded>
    </Panel>
  );
}

function ModelBalance({ of: row, usedInDay }: { of: MyModel; usedInDay: number }) {
  return (
    <li className="min-w-0">
      <p className="mb-1.5 flex items-baseline gap-2">
        <TextLink to={paths.model(row.model_id)} className="foreign min-w-0 flex-1 truncate">
          {row.model}
        </TextLink>
        <span className="font-semibold">
          <Count count={row.tokens} />
        </span>
      </p>
      <BalanceGauge of={row} usedInDay={usedInDay} />
    </li>
  );
}
