/** Offers a choice between a few things of which one is on. */
export function Segments<Value extends string>({
  label,
  value,
  options,
  onChange,
}: {
  label: string;
  value: Value;
  options: readonly { value: Value; label: string }[];
  onChange: (value: Value) => void;
}) {
  return (
    <div
      role="radiogroup"
      aria-label={label}
      className="flex max-w-full flex-wrap rounded-md bg-sunken p-0.5"
    >
      {options.map((option) => (
        <label
          key={option.value}
          className="cursor-pointer rounded-sm px-2.5 py-1 text-table font-medium whitespace-nowrap text-text-2 hover:text-text has-checked:bg-surface has-checked:text-text has-focus-visible:outline-2 has-focus-visible:outline-accent"
        >
          <input
            type="radio"
            className="sr-only"
            name={label}
            checked={option.value === value}
            onChange={() => onChange(option.value)}
          />
          {option.label}
        </label>
      ))}
    </div>
  );
}
