import type { Price, PriceSettings } from '../../api/catalogue.ts';
import { CheckField, TextField } from '../../ui/forms/field.tsx';
import type { FormValues } from '../../ui/forms/form.tsx';
import { useWords, type Words } from '../../words/words.ts';

const AMOUNT = { inputMode: 'decimal', autoComplete: 'off' } as const;

/** The price per million tokens and the weight of each class. */
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
      <CheckField name="free" label={models.free} />
    </>
  );
}

function WeightFields({ of: price }: { of: Price | undefined }) {
  const { models } = useWords().admin;
  return (
    <fieldset>
      <legend className="mb-1 font-medium">{models.weights}</legend>
      <div className="grid grid-cols-4 gap-3 max-sm:grid-cols-2">
        {weightsOf(models, price).map(({ name, label, value }) => (
          <TextField key={name} name={name} label={label} defaultValue={value ?? '1'} {...AMOUNT} />
        ))}
        {optionalWeightsOf(models, price).map(({ name, label, value }) => (
          <TextField key={name} name={name} label={label} defaultValue={value ?? ''} {...AMOUNT} />
        ))}
      </div>
      <p className="mt-1 text-table text-text-3">{models.weightHelp}</p>
      <p className="mt-1 text-table text-text-3">{models.weightHelpParent}</p>
    </fieldset>
  );
}

/** The classes that have a parent's weight where they have none of their own. */
function optionalWeightsOf(models: Words['admin']['models'], price: Price | undefined): Weight[] {
  return [
    {
      name: 'weight_cache_write_1h',
      label: models.weightCacheWrite1h,
      value: price?.weight_cache_write_1h,
    },
    {
      name: 'weight_audio_input',
      label: models.weightAudioInput,
      value: price?.weight_audio_input,
    },
    {
      name: 'weight_audio_output',
      label: models.weightAudioOutput,
      value: price?.weight_audio_output,
    },
  ];
}

interface Weight {
  name: string;
  label: string;
  value: string | null | undefined;
}

function weightsOf(models: Words['admin']['models'], price: Price | undefined): Weight[] {
  return [
    { name: 'weight_input', label: models.weightInput, value: price?.weight_input },
    { name: 'weight_output', label: models.weightOutput, value: price?.weight_output },
    { name: 'weight_cache_read', label: models.weightCacheRead, value: price?.weight_cache_read },
    {
      name: 'weight_cache_write',
      label: models.weightCacheWrite,
      value: price?.weight_cache_write,
    },
  ];
}

export function priceOf(values: FormValues): PriceSettings {
  const weight = (name: string): string => values[name] || '1';
  return {
    price_per_million: values.price_per_million ?? '',
    weight_input: weight('weight_input'),
    weight_output: weight('weight_output'),
    weight_cache_read: weight('weight_cache_read'),
    weight_cache_write: weight('weight_cache_write'),
    weight_cache_write_1h: values.weight_cache_write_1h || null,
    weight_audio_input: values.weight_audio_input || null,
    weight_audio_output: values.weight_audio_output || null,
    ...(values.free === 'on' ? { free: true } : {}),
  };
}
