import { Field as Base } from '@base-ui/react/field';
import type { ComponentProps, ReactNode } from 'react';
import { useSpeech } from '../../words/words.ts';
import { localDecimal } from './decimals.ts';
import { Fault } from './fault.tsx';

const CONTROL =
  'w-full rounded-md border border-line-strong bg-surface px-2.5 text-body text-text placeholder:text-text-3 hover:border-text-3 data-[invalid]:border-bad aria-invalid:border-bad disabled:opacity-60';

export interface FieldProps {
  /** Names the value in the form, and the server's errors about it. */
  name: string;
  label: string;
  help?: ReactNode;
}

/** Draws the label above, help below, and the fault below that. */
function Frame({
  name,
  label,
  help,
  bounds,
  children,
}: FieldProps & { bounds?: ComponentProps<'input'>; children: ReactNode }) {
  return (
    <Base.Root name={name} className="flex flex-col gap-1">
      <Base.Label className="font-medium">{label}</Base.Label>
      {children}
      {help !== undefined && (
        <Base.Description className="text-table text-text-3">{help}</Base.Description>
      )}
      <Fault bounds={bounds} />
    </Base.Root>
  );
}

/** Asks for text of one line. A decimal is shown, and read when the form is sent, as people of the locale write it. */
export function TextField({
  name,
  label,
  help,
  unit,
  className = '',
  defaultValue,
  ...rest
}: FieldProps & { unit?: string | undefined } & Omit<ComponentProps<'input'>, 'name'>) {
  const { locale } = useSpeech();
  const isLocal = rest.inputMode === 'decimal' && typeof defaultValue === 'string';
  return (
    <Frame name={name} label={label} help={help} bounds={rest}>
      <div className="relative">
        <Base.Control
          {...rest}
          defaultValue={isLocal ? localDecimal(defaultValue, locale) : defaultValue}
          className={`${CONTROL} h-8 ${unit === undefined ? '' : 'pr-16'} ${className}`}
        />
        {unit !== undefined && (
          <span className="pointer-events-none absolute inset-y-0 right-2.5 flex items-center text-table text-text-3">
            {unit}
          </span>
        )}
      </div>
    </Frame>
  );
}

/** Draws a field for text of several lines. */
export function TextAreaField({
  name,
  label,
  help,
  ...rest
}: FieldProps & Omit<ComponentProps<'textarea'>, 'name'>) {
  return (
    <Frame name={name} label={label} help={help}>
      <Base.Control render={<textarea {...rest} />} className={`${CONTROL} py-1.5`} />
    </Frame>
  );
}

export interface Option {
  value: string;
  label: string;
}

/** Uses the browser's own list: every device knows how to show it. */
export function SelectField({
  name,
  label,
  help,
  options,
  ...rest
}: FieldProps & { options: readonly Option[] } & Omit<ComponentProps<'select'>, 'name'>) {
  return (
    <Frame name={name} label={label} help={help}>
      <Base.Control
        render={
          <select {...rest}>
            {options.map(({ value, label: text }) => (
              <option key={value} value={value}>
                {text}
              </option>
            ))}
          </select>
        }
        className={`${CONTROL} h-8 pr-8`}
      />
    </Frame>
  );
}

export function CheckField({
  name,
  label,
  help,
  ...rest
}: FieldProps & Omit<ComponentProps<'input'>, 'name' | 'type'>) {
  return (
    <Base.Root name={name} className="flex flex-col gap-1">
      <label className="flex items-start gap-2">
        <input type="checkbox" name={name} {...rest} className="mt-0.5 size-4 accent-accent" />
        <span className="font-medium">{label}</span>
      </label>
      {help !== undefined && <p className="pl-6 text-table text-text-3">{help}</p>}
      <Fault indent="pl-6" />
    </Base.Root>
  );
}
