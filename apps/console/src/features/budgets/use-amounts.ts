import { useQuery } from '@tanstack/react-query';
import type { Budget } from '../../api/limits/budgets.ts';
import { walletQuery } from '../../api/wallet.ts';
import { formatCount, formatMoney } from '../../ui/format.ts';
import { useSpeech } from '../../words/words.ts';

export type AmountText = (unit: Budget['unit'], amount: string) => string;

/** Returns the currency of the account's wallet, or '' until it is known, and the function that writes amounts of budgets with their units. */
export function useAmounts(userId: number): { currency: string; write: AmountText } {
  const { words, locale } = useSpeech();
  const { data: wallet } = useQuery(walletQuery(userId));
  const currency = wallet?.currency ?? '';
  const write: AmountText = (unit, amount) => {
    if (unit !== 'money')
      return words.budgets.units[unit].amount(formatCount(Number(amount), locale));
    return currency === '' ? amount : formatMoney(amount, { currency, locale });
  };
  return { currency, write };
}
