import { numberFormat } from '../formats.ts';

/** Holds the marks of a locale: of decimals, and between groups of digits. */
interface Marks {
  decimal: string;
  group: string;
}

function marksOf(locale: string): Marks {
  const parts = numberFormat(locale).formatToParts(1_234_567.5);
  const mark = (type: 'decimal' | 'group'): string =>
    parts.find((part) => part.type === type)?.value ?? '';
  return { decimal: mark('decimal') || '.', group: mark('group') };
}

/** Returns a decimal that was typed as people of the locale write it in the spelling of the interface: `1.234,5` becomes `1234.5`. A text that is no such number stays as it is, and the server judges it. */
export function plainDecimal(text: string, locale: string): string {
  const { decimal, group } = marksOf(locale);
  const typed = text.trim();
  const [whole = '', fraction, ...more] = typed.split(decimal);
  const isBlank = group.trim() === '';
  const groups = whole.split(isBlank ? /\s/ : group);
  const isGrouped = groups.length === 1 || /^-?[1-9]\d{0,2}(?:,\d{3})*$/.test(groups.join(','));
  const digits = groups.join('');
  if (more.length > 0 || !isGrouped || !/^-?\d+$/.test(digits)) return typed;
  if (fraction === undefined) return digits;
  return /^\d+$/.test(fraction) ? `${digits}.${fraction}` : typed;
}

/** Returns a decimal of the interface as people of the locale write it, without groups. */
export function localDecimal(text: string, locale: string): string {
  return text.replace('.', marksOf(locale).decimal);
}
