import { useQuery, type UseQueryResult } from '@tanstack/react-query';
import { useMe } from '../../api/session.ts';
import { statisticsQuery, type UsageStatistics } from '../../api/usage.ts';
import { walletQuery } from '../../api/wallet.ts';
import { Count, Money } from '../../ui/figures.tsx';
import { formatPercent } from '../../ui/format.ts';
import { rangeBefore, type TimeRange } from '../../api/range-bounds.ts';
import { Sparkline } from '../../ui/charts/sparkline.tsx';
import { Tile, Tiles } from '../../ui/tile.tsx';
import { useSpeech, type Words } from '../../words/words.ts';
import { sumOf, timesOf, totalsOf, type CountMeasure } from '../usage/course.ts';

interface OverviewTilesProps {
  statistics: UseQueryResult<UsageStatistics>;
  range: TimeRange;
}

/** Shows the range in four figures, each compared with the range before. */
export function OverviewTiles({ statistics: { data }, range }: OverviewTilesProps) {
  const { words, locale } = useSpeech();
  const { overview } = words;
  const me = useMe();
  const { data: wallet } = useQuery(walletQuery(me.id));
  const { data: earlier } = useQuery(statisticsQuery({ user_id: me.id }, rangeBefore(range)));
  const now = data && sumOf(totalsOf(data));
  const before = earlier && sumOf(totalsOf(earlier));
  const change = (measure: CountMeasure): string | undefined =>
    now && before && changeInWords(now[measure], before[measure], words, locale);
  const figure = (measure: CountMeasure) => (now ? <Count count={now[measure]} /> : '–');
  return (
    <Tiles>
      <Tile
        label={overview.wallet}
        figure={wallet ? <Money amount={wallet.balance} currency={wallet.currency} /> : '–'}
      />
      <Tile label={overview.charge} figure={figure('charge')} note={change('charge')}>
        {data && <Sparkline values={courseOf(data, 'charge')} />}
      </Tile>
      <Tile label={overview.requests} figure={figure('requests')} note={change('requests')}>
        {data && <Sparkline values={courseOf(data, 'requests')} />}
      </Tile>
      <Tile
        label={overview.errors}
        figure={figure('errors')}
        note={
          now &&
          overview.errorShare(
            formatPercent(now.requests === 0 ? 0 : now.errors / now.requests, locale),
          )
        }
      >
        {data && <Sparkline values={courseOf(data, 'errors')} />}
      </Tile>
    </Tiles>
  );
}

/** Returns one measure over time, all groups together. */
function courseOf(statistics: UsageStatistics, measure: CountMeasure): number[] {
  const sums = new Map<number, number>();
  for (const row of statistics.data)
    sums.set(Date.parse(row.at), (sums.get(Date.parse(row.at)) ?? 0) + row[measure]);
  return timesOf(statistics).map((at) => sums.get(at) ?? 0);
}

function changeInWords(now: number, before: number, { overview }: Words, locale: string): string {
  if (before === 0) return overview.firstTime;
  const share = now / before - 1;
  if (Math.abs(share) < 0.005) return overview.same;
  const text = formatPercent(Math.abs(share), locale);
  return share > 0 ? overview.more(text) : overview.less(text);
}
