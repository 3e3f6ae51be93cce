import type { ReactNode } from 'react';
import type { PriceTag } from '../../api/models.ts';
import { Count, Money } from '../../ui/figures.tsx';
import { formatCount } from '../../ui/format.ts';
import { useSpeech } from '../../words/words.ts';

const MICROS = 1e6;

/** What a purchase comes to, line by line. */
export function PurchaseSummary({
  tokens,
  cost,
  price,
  balance,
  isShort,
}: {
  tokens: number | undefined;
  cost: string | undefined;
  price: PriceTag;
  balance: string | undefined;
  isShort: boolean;
}) {
  const { words, locale } = useSpeech();
  const { market } = words;
  const { currency } = price;
  const lines: { name: string; value: ReactNode; isStrong?: boolean }[] = [
    {
      name: market.tokensBought,
      value: tokens === undefined ? '–' : <Count count={tokens} isWhole />,
    },
    {
      name: market.cost,
      value: cost === undefined ? '–' : <Money amount={cost} currency={currency} />,
      isStrong: true,
    },
    {
      name: market.balanceNow,
      value: balance === undefined ? '–' : <Money amount={balance} currency={currency} />,
    },
    {
      name: market.balanceAfter,
      value:
        balance === undefined || cost === undefined ? (
          '–'
        ) : (
          <span className={isShort ? 'font-medium text-bad' : ''}>
            <Money amount={difference(balance, cost)} currency={currency} />
          </span>
        ),
    },
  ];
  const typical = 1_000 * Number(price.weight_input) + 250 * Number(price.weight_output);
  return (
    <div className="rounded-md bg-sunken px-3 py-2">
      <dl className="flex flex-col gap-1.5">
        {lines.map(({ name, value, isStrong = false }) => (
          <div
            key={name}
            className={`flex justify-between gap-4 ${isStrong ? 'font-semibold' : ''}`}
          >
            <dt className={isStrong ? '' : 'text-text-2'}>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {tokens !== undefined && tokens > 0 && typical > 0 && (
        <p className="mt-2 border-t border-line pt-2 text-table text-text-3">
          {market.worth(formatCount(Math.floor(tokens / typical), locale))}
        </p>
      )}
    </div>
  );
}

/** Of two amounts, exact to a millionth. */
function difference(left: string, right: string): string {
  const micros = (text: string): bigint => {
    const [whole = '0', fraction = ''] = text.replace('-', '').split('.');
    const size = BigInt(whole) * BigInt(MICROS) + BigInt(fraction.padEnd(6, '0'));
    return text.startsWith('-') ? -size : size;
  };
  const result = micros(left) - micros(right);
  const size = result < 0n ? -result : result;
  const text = `${size / BigInt(MICROS)}.${String(size % BigInt(MICROS)).padStart(6, '0')}`;
  return `${result < 0n ? '-' : ''}${text}`;
}
