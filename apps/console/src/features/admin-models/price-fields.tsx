import type { Price, PriceSettings } from '../../api/catalogue.ts';
import { CheckField, TextField } from '../../ui/field.tsx';
import type { FormValues } from '../../ui/form.tsx';
import { useWords } from '../../words/words.ts';

/** The price per million tokens and the weight of each class. */
export function PriceFields({ of: price }: { of?: Price | undefined }) {
  const { admin } = useWords();
  const { models } = admin;
  const amount = { inputMode: 'decimal', autoComplete: 'off' } as const;
  const weights = [
    { name: 'weight_input', label: models.weightInput, value: price?.weight_input },
    { name: 'weight_output', label: models.weightOutput, value: price?.weight_output },
    { name: 'weight_cache_read', label: models.weightCacheRead, value: price?.weight_cache_read },
    {
      name: 'weight_cache_write',
      label: models.weightCacheWrite,
      value: price?.weight_cache_write,
    },
  ];
  const optional = [
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
  return (
    <>
      <TextField
        name="price_per_million"
        label={models.price}
        unit={price?.currency}
        defaultValue={price?.price_per_million}
        {...amount}
      />
      <fieldset>
        <legend className="mb-1 font-medium">{models.weights}</legend>
        <div className="grid grid-cols-4 gap-3 max-sm:grid-cols-2">
          {weights.map(({ name, label, value }) => (
            <TextField
              key={name}
              name={name}
              label={label}
              defaultValue={value ?? '1'}
              {...amount}
            />
          ))}
          {optional.map(({ name, label, value }) => (
            <TextField
              key={name}
              name={name}
              label={label}
              defaultValue={value ?? ''}
              {...amount}
            />
          ))}
        </div>
        <p className="mt-1 text-table text-text-3">{models.weightHelp}</p>
        <p className="mt-1 text-table text-text-3">{models.weightHelpParent}</p>
      </fieldset>
      <CheckField name="free" label={models.free} />
    </>
  );
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
