import type { Budget, BudgetUsage } from '../../api/limits/budgets.ts';
import { FILL_TONES, fillOf } from '../../ui/charts/fill.ts';
import { Gauge } from '../../ui/charts/gauge.tsx';
import { formatCount } from '../../ui/format.ts';
import { useSpeech } from '../../words/words.ts';
import type { AmountText } from './use-amounts.ts';

/** Shows what is used and held of a budget in its period; only the amount until that is known. */
export function BudgetFill({
  of: budget,
  usage,
  write,
}: {
  of: Budget;
  usage: BudgetUsage | undefined;
  write: AmountText;
}) {
  const { words, locale } = useSpeech();
  const { general, budgets } = words;
  const { unit } = budget;
  if (!usage) return <span className="tabular">{write(unit, budget.amount)}</span>;
  const { used, held } = usage.live ?? { used: usage.used, held: '0' };
  const text = general.of(write(unit, used), write(unit, usage.limit));
  const [limit, taken] = [Number(usage.limit), Number(used) + Number(held)];
  return (
    <div className="flex min-w-36 flex-col gap-1">
      <span className="tabular">{text}</span>
      <Gauge
        part={taken}
        whole={limit}
        held={Number(held)}
        tone={FILL_TONES[limit <= 0 ? 'reached' : fillOf({ limit, used: taken })]}
        label={budgets.gauge(budget.id)}
        text={text}
      />
      <span className="tabular text-tiny text-text-3">
        {[
          ...(Number(held) > 0 ? [budgets.held(write(unit, held))] : []),
          ...(Number(usage.granted) > 0 ? [budgets.granted(write(unit, usage.granted))] : []),
          ...(usage.values === null ? [] : [budgets.most(formatCount(usage.values, locale))]),
          ...(usage.live || usage.values !== null || budget.of === 'purchases'
            ? []
            : [budgets.notLive]),
        ].join(' · ')}
      </span>
    </div>
  );
}
