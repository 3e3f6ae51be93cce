import { CalendarRange } from './icons.tsx';
import { useState } from 'react';
import { useSpeech, useWords } from '../words/words.ts';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';
import { SelectFilter, TextField } from './field.tsx';
import { DAY, intervalOf, LENGTHS, type RangeName, type TimeRange } from './range-bounds.ts';
import type { PageAddress } from '../page-module.ts';
import { optional, useSearchState, withDefault, z, type SearchOf } from './search-state.ts';
import { formatExact } from './time.tsx';
import { useZone } from './zone.tsx';

const rangeSearch = z.object({
  range: withDefault(z.enum(['24h', '7d', '30d', '90d']), '24h'),
  from: optional(z.iso.datetime()),
  to: optional(z.iso.datetime()),
});

/** One time range for the whole page, from its address. */
export function useTimeRange(): TimeRange {
  return named(useSearchState(rangeSearch)[0]);
}

/** The same before the page is open. */
export function rangeOf(search: PageAddress['search']): TimeRange {
  return named(rangeSearch.parse(search));
}

function named({ range, from, to }: SearchOf<typeof rangeSearch>): TimeRange {
  if (from === undefined || to === undefined || from >= to)
    return { name: range, interval: intervalOf(LENGTHS[range]) };
  return {
    name: 'custom',
    from,
    to,
    interval: intervalOf(Date.parse(to) - Date.parse(from)),
  };
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
      <Dialog title={shell.rangeCustom} isOpen={isOpen} onClose={() => setOpen(false)}>
        {({ close }) => (
          <RangeForm
            first={search}
            onChoose={(from, to) => {
              change({ range: undefined, from, to, cursor: undefined });
              close();
            }}
          />
        )}
      </Dialog>
    </>
  );
}

interface RangeFormProps {
  first: { from?: string | undefined; to?: string | undefined };
  onChoose: (from: string, to: string) => void;
}

function RangeForm({ first, onChoose }: RangeFormProps) {
  const { shell } = useWords();
  const [from, setFrom] = useState(() => toInput(first.from ?? new Date(Date.now() - DAY)));
  const [to, setTo] = useState(() => toInput(first.to ?? new Date()));
  return (
    <form
      className="flex flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        onChoose(new Date(from).toISOString(), new Date(to).toISOString());
      }}
    >
      <TextField
        name="from"
        label={shell.rangeFrom}
        type="datetime-local"
        required
        max={to}
        value={from}
        onChange={(event) => setFrom(event.target.value)}
      />
      <TextField
        name="to"
        label={shell.rangeTo}
        type="datetime-local"
        required
        min={from}
        value={to}
        onChange={(event) => setTo(event.target.value)}
      />
      <Button type="submit" look="primary" className="self-end">
        {shell.rangeApply}
      </Button>
    </form>
  );
}

/** What the browser's field of date and time takes: local time, without a zone. */
function toInput(at: string | Date): string {
  const time = new Date(at);
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
