import type { ReactNode } from 'react';
import type { Shape } from '../../api/client.ts';
import type { PriceTag } from '../../api/models.ts';
import { Count, Money } from '../../ui/figures.tsx';
import { formatCount } from '../../ui/format.ts';
import { useSpeech } from '../../words/words.ts';
import { Weights } from './weights.tsx';

/** Is a request people can picture, to give a number of tokens a meaning. */
const EXAMPLE = { input: 1_000, output: 250 };

/** Shows what a purchase comes to, line by line, as the server would book it, and how the tokens are charged. */
export function PurchaseSummary({
  of: preview,
  price,
}: {
  of: Shape<'PurchasePreview'> | undefined;
  price: PriceTag;
}) {
  const { market } = useSpeech().words;
  const money = (amount: string | undefined): ReactNode =>
    amount === undefined ? '–' : <Money amount={amount} currency={price.currency} />;
  return (
    <div className="rounded-md bg-sunken px-3 py-2">
      <dl className="flex flex-col gap-1.5">
        <Line name={market.tokensBought}>
          {preview ? <Count count={preview.tokens} isWhole /> : '–'}
        </Line>
        <Line name={market.cost} isStrong>
          {money(preview?.cost)}
        </Line>
        <Line name={market.balanceNow}>{money(preview?.wallet_before)}</Line>
        <Line name={market.balanceAfter}>
          <span className={preview?.is_affordable === false ? 'font-medium text-bad' : ''}>
            {money(preview?.wallet_after)}
          </span>
        </Line>
      </dl>
      <p className="mt-2 border-t border-line pt-2 text-table">
        <Weights price={price} />
      </p>
      <Meaning of={preview} price={price} />
    </div>
  );
}

/** Gives the number of tokens a meaning: the requests that it pays for. */
function Meaning({
  of: preview,
  price,
}: {
  of: Shape<'PurchasePreview'> | undefined;
  price: PriceTag;
}) {
  const { words, locale } = useSpeech();
  const { market } = words;
  const typical =
    EXAMPLE.input * Number(price.weight_input) + EXAMPLE.output * Number(price.weight_output);
  if (!preview || typical <= 0) return null;
  return (
    <p className="mt-1 text-table text-text-3">
      {preview.tokens < typical
        ? market.worthLess
        : market.worth(formatCount(Math.floor(preview.tokens / typical), locale))}
    </p>
  );
}

export function Line({
  name,
  isStrong = false,
  id,
  children,
}: {
  name: string;
  isStrong?: boolean;
  /** Is the id by which tests find the element. */
  id?: string;
  children: ReactNode;
}) {
  return (
    <div className={`flex justify-between gap-4 ${isStrong ? 'font-semibold' : ''}`}>
      <dt className={isStrong ? '' : 'text-text-2'}>{name}</dt>
      <dd data-testid={id} className="text-right">
        {children}
      </dd>
    </div>
  );
}
