import type { UsageReceipt } from '../../api/usage.ts';
import { formatMoney } from '../../ui/format.ts';
import { costOf } from '../../ui/cost.ts';
import { useSpeech } from '../../words/words.ts';

/** Shows what the charge is worth at the price it was charged by. Tokens were paid for when they were bought; this is for comparison. */
export function ChargeCost({
  charge,
  price: { price_per_million: perMillion, currency },
}: {
  charge: number;
  price: NonNullable<UsageReceipt['price']>;
}) {
  const { words, locale } = useSpeech();
  const amount = formatMoney(costOf(charge, perMillion), { currency, locale });
  return <span>{words.request.costs(amount)}</span>;
}
