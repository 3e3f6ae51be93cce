import { CalendarRange } from '../icons.tsx';
import { lazy, useState } from 'react';
import { useSpeech, useWords } from '../../words/words.ts';
import { Button } from '../forms/button.tsx';
import { OnceOpened } from '../once-opened.tsx';
import { SelectFilter } from '../tables/select-filter.tsx';
import {
  customRange,
  LENGTHS,
  namedRange,
  type RangeName,
  type TimeRange,
} from '../../api/range-bounds.ts';
import type { PageAddress } from '../../page-module.ts';
import { optional, useSearchState, withDefault, z, type SearchOf } from '../tables/search-state.ts';
import { formatExact } from './time.tsx';
import { useZone } from './zone.tsx';

const CustomRangeDialog = lazy(async () => ({
  default: (await import('./custom-range.tsx')).CustomRangeDialog,
}));

const rangeSearch = z.object({
  range: withDefault(z.enum(['15m', '1h', '6h', '24h', '7d', '30d', '90d']), '24h'),
  from: optional(z.iso.datetime()),
  to: optional(z.iso.datetime()),
});

/** Returns one time range for the whole page, from its address. */
export function useTimeRange(): TimeRange {
  return named(useSearchState(rangeSearch)[0]);
}

/** Returns the time range of an address before its page is open. */
export function rangeOf(search: PageAddress['search']): TimeRange {
  return named(rangeSearch.parse(search));
}

function named({ range, from, to }: SearchOf<typeof rangeSearch>): TimeRange {
  return from === undefined || to === undefined || from >= to
    ? namedRange(range)
    : customRange(from, to);
}

/** Changes the range of the page; `zoom` is for charts. */
export function useRangeChange(): (from: number, to: number) => void {
  const [, change] = useSearchState(rangeSearch);
  return (from, to) =>
    change({
      range: undefined,
      from: new Date(from).toISOString(),
      to: new Date(to).toISOString(),
      cursor: undefined,
    });
}

export function TimeRangePicker() {
  const { words, locale } = useSpeech();
  const { zone } = useZone();
  const [, change] = useSearchState(rangeSearch);
  const range = useTimeRange();
  const { shell } = words;
  const custom =
    range.name === 'custom'
      ? `${formatExact(range.from, { locale, zone })} – ${formatExact(range.to, { locale, zone })}`
      : undefined;
  const names = Object.keys(LENGTHS) as RangeName[];
  return (
    <div className="flex items-center gap-1">
      <SelectFilter
        label={shell.range}
        value={range.name}
        options={[
          ...names.map((name) => ({ value: name, label: shell.ranges[name] })),
          ...(custom === undefined ? [] : [{ value: 'custom', label: custom }]),
        ]}
        onChange={(name) =>
          change({ range: name, from: undefined, to: undefined, cursor: undefined })
        }
      />
      <CustomRange />
    </div>
  );
}

function CustomRange() {
  const { shell } = useWords();
  const [search, change] = useSearchState(rangeSearch);
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button
        icon={<CalendarRange aria-hidden className="size-4" />}
        aria-label={shell.rangeCustom}
        onClick={() => setOpen(true)}
      />
      <OnceOpened isOpen={isOpen}>
        <CustomRangeDialog
          first={search}
          isOpen={isOpen}
          onClose={() => setOpen(false)}
          onChoose={(from, to) => change({ range: undefined, from, to, cursor: undefined })}
        />
      </OnceOpened>
    </>
  );
}
