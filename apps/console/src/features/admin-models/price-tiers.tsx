import { Field } from '@base-ui/react/field';
import { useState } from 'react';
import type { PriceTier } from '../../api/catalogue.ts';
import { CHARGED_CLASSES, weightOf } from '../../api/tables.ts';
import { Button } from '../../ui/forms/button.tsx';
import { Fault } from '../../ui/forms/fault.tsx';
import { TextField } from '../../ui/forms/field.tsx';
import type { FormValues } from '../../ui/forms/form.tsx';
import { useWords } from '../../words/words.ts';

const TIERS_MAX = 4;
const aboveOf = (index: number): string => `tiers.${index}.above_prompt_tokens`;
const weightAt = (index: number, name: string): string => `tiers.${index}.weights.${name}`;

interface Row {
  id: number;
  tier: PriceTier | undefined;
}

/** Draws the weights of long prompts: one row of fields for each threshold. */
export function TierFields({ of: tiers }: { of: readonly PriceTier[] }) {
  const { models } = useWords().admin;
  const [rows, setRows] = useState<readonly Row[]>(tiers.map((tier, id) => ({ id, tier })));
  const add = (): void => {
    const id = Math.max(-1, ...rows.map((row) => row.id)) + 1;
    setRows([...rows, { id, tier: rows.at(-1)?.tier }]);
  };
  return (
    <details open={tiers.length > 0}>
      <summary className="cursor-pointer rounded-sm font-medium">{models.tiers}</summary>
      <div className="mt-2 flex flex-col gap-4">
        <p className="text-table text-text-3">{models.tiersHelp}</p>
        {rows.map((row, index) => (
          <TierRow
            key={row.id}
            index={index}
            of={row.tier}
            onRemove={() => setRows(rows.filter(({ id }) => id !== row.id))}
          />
        ))}
        {rows.length < TIERS_MAX && (
          <Button size="small" className="self-start" onClick={add}>
            {models.addTier}
          </Button>
        )}
        <ListFault />
      </div>
    </details>
  );
}

/** Shows a fault of the whole list, such as tiers that do not ascend. */
function ListFault() {
  return (
    <Field.Root name="tiers" render={<fieldset name="tiers" />}>
      <Fault />
    </Field.Root>
  );
}

interface TierRowProps {
  index: number;
  of: PriceTier | undefined;
  onRemove: () => void;
}

function TierRow({ index, of: tier, onRemove }: TierRowProps) {
  const { admin, tables } = useWords();
  const { models } = admin;
  return (
    <fieldset className="border-t border-line pt-3">
      <div className="flex items-end gap-3">
        <TextField
          name={aboveOf(index)}
          label={models.tierAbove}
          defaultValue={tier?.above_prompt_tokens ?? ''}
          inputMode="numeric"
          autoComplete="off"
        />
        <Button size="small" className="mb-0.5" onClick={onRemove}>
          {models.removeTier}
        </Button>
      </div>
      <div className="mt-2 grid grid-cols-4 gap-3 max-sm:grid-cols-2">
        {CHARGED_CLASSES.map(({ name, is_optional: isOptional }) => (
          <TextField
            key={name}
            name={weightAt(index, weightOf(name))}
            label={tables.classes[name]}
            defaultValue={tier?.weights[weightOf(name)] ?? (isOptional ? '' : '1')}
            inputMode="decimal"
            autoComplete="off"
          />
        ))}
      </div>
    </fieldset>
  );
}

/** Returns the tiers that the form has. The server judges what was typed. */
export function tiersOf(values: FormValues): PriceTier[] {
  return Array.from({ length: TIERS_MAX }, (_, index) => index)
    .filter((index) => values[aboveOf(index)] !== undefined)
    .map((index) => ({
      above_prompt_tokens: Number(values[aboveOf(index)]),
      weights: Object.fromEntries(
        CHARGED_CLASSES.flatMap(({ name }) => {
          const weight = values[weightAt(index, weightOf(name))];
          return weight ? [[weightOf(name), weight]] : [];
        }),
      ) as PriceTier['weights'],
    }));
}
