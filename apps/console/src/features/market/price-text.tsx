import type { PriceTag } from '../../api/models.ts';
import { Badge } from '../../ui/badge.tsx';
import { Money } from '../../ui/figures.tsx';
import { useWords } from '../../words/words.ts';

/** Shows what a million charged tokens cost. */
export function PriceText({ price }: { price: PriceTag | null }) {
  const { market } = useWords();
  if (price === null) return <Badge tone="off">{market.noPrice}</Badge>;
  if (price.free) return <Badge tone="good">{market.free}</Badge>;
  return (
    <span>
      <span className="font-medium">
        <Money amount={price.price_per_million} currency={price.currency} />
      </span>{' '}
      <span className="text-table text-text-3">{market.perMillion}</span>
    </span>
  );
}
