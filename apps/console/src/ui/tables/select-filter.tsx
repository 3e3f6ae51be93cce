import type { Option } from '../forms/field.tsx';

/** Is a choice outside forms, such as in a bar of filters: its label is for screen readers. */
export function SelectFilter({
  label,
  value,
  options,
  onChange,
}: {
  label: string;
  value: string;
  options: readonly Option[];
  onChange: (value: string) => void;
}) {
  return (
    <select
      aria-label={label}
      value={value}
      onChange={(event) => onChange(event.target.value)}
      className="h-8 max-w-56 rounded-md border border-line-strong bg-surface pr-7 pl-2.5 text-body text-text hover:border-text-3"
    >
      {options.map((option) => (
        <option key={option.value} value={option.value}>
          {option.label}
        </option>
      ))}
    </select>
  );
}
