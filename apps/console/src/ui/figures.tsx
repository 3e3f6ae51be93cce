import { useSpeech } from '../words/words.ts';
import { formatAmount, formatCount, formatDuration, formatMoney, formatShort } from './format.ts';

/** Shows an amount with its currency; nothing is rounded away. */
export function Money({ amount, currency }: { amount: string; currency: string }) {
  const { locale } = useSpeech();
  return (
    <span className="tabular whitespace-nowrap">{formatMoney(amount, { currency, locale })}</span>
  );
}

/** Shows an amount in a column whose heading names the currency; `digits` are the most that the column shows. */
export function Amount({ amount, digits }: { amount: string; digits: number }) {
  const { locale } = useSpeech();
  return <span className="tabular whitespace-pre">{formatAmount(amount, { locale, digits })}</span>;
}

/** Shows a count, short where it is large; the whole number is on hover, in screen readers and in copies. */
export function Count({ count, isWhole = false }: { count: number; isWhole?: boolean }) {
  const { locale } = useSpeech();
  const whole = formatCount(count, locale);
  return (
    <span className="tabular whitespace-nowrap" title={whole}>
      {isWhole ? whole : formatShort(count, locale)}
    </span>
  );
}

export function Duration({ ms }: { ms: number | null }) {
  const { locale } = useSpeech();
  return (
    <span className="tabular whitespace-nowrap">
      {ms === null ? '–' : formatDuration(ms, locale)}
    </span>
  );
}
