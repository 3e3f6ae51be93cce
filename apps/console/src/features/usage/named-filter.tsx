import { OUTCOMES } from '../../api/tables.ts';
import { SelectFilter } from '../../ui/tables/select-filter.tsx';
import { useWords } from '../../words/words.ts';
import type { UsageSearch } from './usage-search.ts';

interface OutcomeFilterProps {
  value: UsageSearch['outcome'];
  onChange: (value: string) => void;
}

/** Filters the list alone: sums are not kept by outcome. */
export function OutcomeFilter({ value, onChange }: OutcomeFilterProps) {
  const { tables, usage } = useWords();
  const named = OUTCOMES.map(({ name }) => ({ value: name, label: tables.outcomes[name].name }));
  return (
    <NamedFilter
      label={usage.outcome}
      all={usage.allOutcomes}
      value={value}
      named={named}
      onChange={onChange}
    />
  );
}

interface NamedFilterProps {
  label: string;
  /** Is the choice that narrows nothing. */
  all: string;
  value: number | string | undefined;
  named: readonly { value: string; label: string }[];
  onChange: (value: string) => void;
}

/** Offers a choice of one of these, or of all. */
export function NamedFilter({ label, all, value, named, onChange }: NamedFilterProps) {
  return (
    <SelectFilter
      label={label}
      value={String(value ?? '')}
      onChange={onChange}
      options={[{ value: '', label: all }, ...named]}
    />
  );
}
