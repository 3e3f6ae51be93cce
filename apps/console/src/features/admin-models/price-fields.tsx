import type { Price, PriceSettings } from '../../api/catalogue.ts';
import { CHARGED_CLASSES, weightOf, weightsFrom } from '../../api/tables.ts';
import { CheckField, TextField } from '../../ui/forms/field.tsx';
import type { FormValues } from '../../ui/forms/form.tsx';
import { useWords } from '../../words/words.ts';
import { TierFields, tiersOf } from './price-tiers.tsx';

const AMOUNT = { inputMode: 'decimal', autoComplete: 'off' } as const;

/** Draws the price per million tokens and the weight of each class. */
export function PriceFields({ of: price }: { of?: Price | undefined }) {
  const { admin } = useWords();
  const { models } = admin;

  return (
    <>
      <TextField
        name="price_per_million"
        label={models.price}
        unit={price?.currency}
        defaultValue={price?.price_per_million}
        {...AMOUNT}
      />
      <WeightFields of={price} />
      <TierFields of={price?.tiers ?? []} />
      <CheckField name="free" label={models.free} />
    </>
  );
}

function WeightFields({ of: price }: { of: Price | undefined }) {
  const { admin, tables } = useWords();
  const { models } = admin;
  return (
    <fieldset>
      <legend className="mb-1 font-medium">{models.weights}</legend>
      <div className="grid grid-cols-4 gap-3 max-sm:grid-cols-2">
        {CHARGED_CLASSES.map(({ name, is_optional: isOptional }) => (
          <TextField
            key={name}
            name={weightOf(name)}
            label={tables.classes[name]}
            defaultValue={price?.[weightOf(name)] ?? (isOptional ? '' : '1')}
            {...AMOUNT}
          />
        ))}
      </div>
      <p className="mt-1 text-table text-text-3">{models.weightHelp}</p>
      <p className="mt-1 text-table text-text-3">{models.weightHelpParent}</p>
    </fieldset>
  );
}

export function priceOf(values: FormValues): PriceSettings {
  return {
    price_per_million: values.price_per_million ?? '',
    ...weightsFrom(values),
    tiers: tiersOf(values),
    ...(values.free === 'on' ? { free: true } : {}),
  };
}
