import { numberFormat } from './formats.ts';

/** Figures come as decimal text and stay text: no rounding happens on the way to the eye. */
const THOUSAND = 1_000;

export function formatMoney(
  amount: string,
  { currency, locale }: { currency: string; locale: string },
): string {
  if (!isNumeric(amount)) return amount;
  return numberFormat(locale, {
    style: 'currency',
    currency,
    currencyDisplay: 'code',
    minimumFractionDigits: 2,
    maximumFractionDigits: 6,
  }).format(amount);
}

/** Writes the amount alone, for columns whose heading names the currency. `digits` pads with figure spaces, so that points stand below each other. */
export function formatAmount(amount: string, { locale, digits = 2 }: AmountLook): string {
  if (!isNumeric(amount)) return amount;
  const text = numberFormat(locale, {
    minimumFractionDigits: 2,
    maximumFractionDigits: 6,
    signDisplay: 'negative',
  }).format(amount);
  return text + '\u2007'.repeat(Math.max(0, digits - fractionDigits(amount)));
}

export interface AmountLook {
  locale: string;
  digits?: number;
}

/** Counts the digits behind the point that an amount shows, two at least. */
export function fractionDigits(amount: string): number {
  const fraction = (amount.split('.')[1] ?? '').replace(/0+$/, '');
  return Math.max(2, fraction.length);
}

export function formatCount(count: number, locale: string): string {
  return numberFormat(locale).format(count);
}

/** 1,234 stays whole, 1,234,567 becomes 1.23M: the whole number is in the title of what shows it. */
export function formatShort(count: number, locale: string): string {
  if (Math.abs(count) < 10 * THOUSAND) return formatCount(count, locale);
  return numberFormat(locale, { notation: 'compact', maximumSignificantDigits: 3 }).format(count);
}

export function formatPercent(share: number, locale: string): string {
  const digits = share !== 0 && Math.abs(share) < 0.1 ? 1 : 0;
  return numberFormat(locale, {
    style: 'percent',
    maximumFractionDigits: digits,
  }).format(share);
}

/** Writes durations such as 850 ms, 1.24 s, 2 min 5 s, 2 min. */
export function formatDuration(milliseconds: number, locale: string): string {
  const unit = (value: number, name: string, digits: number): string =>
    numberFormat(locale, {
      style: 'unit',
      unit: name,
      unitDisplay: 'short',
      maximumFractionDigits: digits,
    }).format(value);
  if (milliseconds < THOUSAND) return unit(milliseconds, 'millisecond', milliseconds < 10 ? 1 : 0);
  const seconds = milliseconds / THOUSAND;
  if (seconds < 60) return unit(seconds, 'second', seconds < 10 ? 2 : 1);
  const whole = Math.round(seconds);
  const minutes = unit(Math.floor(whole / 60), 'minute', 0);
  return whole % 60 === 0 ? minutes : `${minutes} ${unit(whole % 60, 'second', 0)}`;
}

function isNumeric(text: string): text is `${number}` {
  return /^-?\d+(\.\d+)?$/.test(text);
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Returns "3 minutes ago" or "in 2 hours". The watch here may be behind what has just happened there, so that the next minute is "now", never "in 2 seconds". */
export function formatRelative(
  at: string,
  { locale, now }: { locale: string; now: number },
): string {
  const format = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' });
  const distance = new Date(at).getTime() - now;
  const size = Math.abs(distance);
  if (size < MINUTE) return format.format(Math.min(0, Math.round(distance / 1000)), 'second');
  if (size < HOUR) return format.format(Math.round(distance / MINUTE), 'minute');
  if (size < DAY) return format.format(Math.round(distance / HOUR), 'hour');
  return format.format(Math.round(distance / DAY), 'day');
}
