import { useQuery } from '@tanstack/react-query';
import type { MyModel, PriceTag } from '../../api/models.ts';
import { statisticsQuery } from '../../api/usage.ts';
import { Badge } from '../../ui/badge.tsx';
import { Count } from '../../ui/figures.tsx';
import { formatCount } from '../../ui/format.ts';
import { Facts, Panel } from '../../ui/page.tsx';
import { Exact, formatExact } from '../../ui/time/time.tsx';
import { Tooltip } from '../../ui/tooltip.tsx';
import { useZone } from '../../ui/time/zone.tsx';
import { useSpeech } from '../../words/words.ts';
import { PriceText } from '../market/price-text.tsx';
import { Weights } from '../market/weights.tsx';
import { BalanceGauge } from './balance-gauge.tsx';

interface SubscriptionSummaryProps {
  of: MyModel;
  price: PriceTag | null;
}

/** Shows what remains, what is held, and by what rules more is bought. */
export function SubscriptionSummary({ of: row, price }: SubscriptionSummaryProps) {
  const { words, locale } = useSpeech();
  const { subscription } = words;
  const { zone } = useZone();
  const { data } = useQuery(
    statisticsQuery(
      { user_id: row.user_id, model_id: row.model_id },
      { name: '24h', interval: 'hour' },
    ),
  );
  const usedInDay = data?.data.reduce((sum, { charge }) => sum + charge, 0) ?? 0;
  return (
    <Panel>
      <div className="mb-4 flex flex-col gap-2">
        <p className="flex items-baseline gap-2">
          <span className="text-figure font-semibold tracking-tight">
            <Count count={row.tokens} isWhole />
          </span>
          <span className="text-text-2">{subscription.left}</span>
        </p>
        <BalanceGauge of={row} usedInDay={usedInDay} />
        {row.as_of !== null && (
          <p className="text-table text-warn">
            {subscription.asOf(formatExact(row.as_of, { locale, zone }))}
          </p>
        )}
      </div>
      <SubscriptionFacts of={row} price={price} />
    </Panel>
  );
}

function SubscriptionFacts({ of: row, price }: SubscriptionSummaryProps) {
  const { words, locale } = useSpeech();
  const { subscription, market } = words;
  const auto =
    row.auto_recharge_threshold === null || !row.auto_recharge_amount
      ? subscription.autoOff
      : subscription.autoOn(
          formatCount(row.auto_recharge_threshold, locale),
          formatCount(row.auto_recharge_amount, locale),
        );
  return (
    <Facts
      facts={[
        {
          name: subscription.status,
          value: (
            <Badge tone={row.status === 'active' ? 'good' : 'off'}>
              {subscription.statuses[row.status]}
            </Badge>
          ),
        },
        {
          name: subscription.held,
          value: (
            <Tooltip text={subscription.heldHelp}>
              <span>{row.held === null ? '–' : <Count count={row.held} isWhole />}</span>
            </Tooltip>
          ),
        },
        { name: subscription.price, value: <PriceText price={price} /> },
        { name: market.weights, value: price ? <Weights price={price} /> : '–' },
        { name: subscription.auto, value: auto },
        { name: subscription.since, value: <Exact at={row.created_at} isBrief /> },
      ]}
    />
  );
}
