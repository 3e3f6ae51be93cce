import type { MyModel } from '../../api/models.ts';
import { formatCount } from '../../ui/format.ts';
import { Gauge } from '../../ui/charts/gauge.tsx';
import { useSpeech, type Words } from '../../words/words.ts';
import { isNear, paceOf, type Pace } from './pace.ts';

const WEEK = 7;

/** Tokens left of a subscription; full is a week at today's pace, or all there is where nothing is used. */
export function BalanceGauge({ of: row, usedInDay }: { of: MyModel; usedInDay: number }) {
  const { words, locale } = useSpeech();
  const pace = paceOf({ tokens: row.tokens, usedInDay });
  const whole = usedInDay > 0 ? Math.max(usedInDay * WEEK, 1) : Math.max(row.tokens, 1);
  const tone = pace.kind === 'empty' ? 'bad' : isNear(pace) ? 'warn' : 'accent';
  return (
    <div className="flex flex-col gap-1.5">
      <Gauge
        part={row.tokens}
        whole={whole}
        held={row.held ?? 0}
        tone={tone}
        label={row.model}
        text={formatCount(row.tokens, locale)}
      />
      <p className={`text-table ${isNear(pace) ? 'font-medium text-warn' : 'text-text-3'}`}>
        {paceInWords(pace, words, locale)}
      </p>
    </div>
  );
}

function paceInWords(pace: Pace, { subscription }: Words, locale: string): string {
  switch (pace.kind) {
    case 'empty':
      return subscription.empty;
    case 'unused':
      return subscription.unused;
    case 'hours':
      return subscription.lessThanDay;
    case 'long':
      return subscription.longLeft;
    case 'days':
      return subscription.daysLeft(formatCount(pace.days, locale));
  }
}
