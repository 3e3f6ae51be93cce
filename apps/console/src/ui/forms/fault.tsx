import { Field as Base } from '@base-ui/react/field';
import type { ComponentProps } from 'react';
import { useWords, type Words } from '../../words/words.ts';

type Bounds = Pick<ComponentProps<'input'>, 'min' | 'max' | 'minLength' | 'maxLength'>;

const UNBOUNDED: Bounds = {};

interface FaultProps {
  bounds?: Bounds | undefined;
  indent?: string;
}

/** Says what is wrong with a field, in the language of the page: the browser's own words are in the language of the browser. */
export function Fault({ bounds = UNBOUNDED, indent = '' }: FaultProps) {
  const words = useWords();
  return (
    <Base.Validity>
      {({ validity }) => {
        const text = textOf(validity, bounds, words);
        return (
          <Base.Error
            className={`text-table text-bad ${indent}`}
            {...(text !== undefined && { children: text })}
          />
        );
      }}
    </Base.Validity>
  );
}

/** Returns undefined where the browser takes the value: what the server says of it is shown then. */
function textOf(
  validity: Partial<Omit<ValidityState, 'valid'>>,
  { min, max, minLength, maxLength }: Bounds,
  { fieldFaults: { faults } }: Words,
): string | undefined {
  if (validity.valueMissing) return faults.required({});
  if (validity.tooShort) return faults.too_short({ minimum: String(minLength) });
  if (validity.tooLong) return faults.too_long({ maximum: String(maxLength) });
  if (validity.rangeUnderflow) return faults.too_small({ minimum: String(min) });
  if (validity.rangeOverflow) return faults.too_large({ maximum: String(max) });
  const { badInput, patternMismatch, stepMismatch, typeMismatch } = validity;
  const isMalformed = badInput || patternMismatch || stepMismatch || typeMismatch;
  return isMalformed ? faults.wrong_format({}) : undefined;
}
