import type { Model, ModelSettings } from '../../api/catalogue.ts';
import { TextAreaField, CheckField, TextField } from '../../ui/forms/field.tsx';
import type { FormValues } from '../../ui/forms/form.tsx';
import { useWords } from '../../words/words.ts';

const COUNT = { inputMode: 'numeric', pattern: '[0-9]*', autoComplete: 'off' } as const;

/** Shows further names, a description, and what requests of a model hold. */
export function ModelMoreFields({ of: model }: { of: Model | undefined }) {
  const { models } = useWords().admin;
  return (
    <>
      <TextField
        name="aliases"
        label={models.aliases}
        help={models.aliasesHelp}
        defaultValue={model?.aliases.join(', ')}
        autoComplete="off"
      />
      <TextAreaField
        rows={3}
        name="description"
        label={models.description}
        defaultValue={model?.description}
      />
      <TextField
        name="default_output_tokens"
        label={models.defaultOutput}
        help={models.defaultOutputHelp}
        defaultValue={model?.default_output_tokens ?? ''}
        {...COUNT}
      />
      <TextField
        name="unbounded_input_tokens"
        label={models.unboundedInput}
        help={models.unboundedInputHelp}
        defaultValue={model?.unbounded_input_tokens ?? ''}
        {...COUNT}
      />
      <ModelHabits of={model} />
    </>
  );
}

/** Asks what a model does, or has done, with every request. */
function ModelHabits({ of: model }: { of: Model | undefined }) {
  const { models } = useWords().admin;
  return (
    <>
      <CheckField
        name="reads_more_than_sent"
        label={models.readsMore}
        help={models.readsMoreHelp}
        defaultChecked={model?.reads_more_than_sent ?? false}
      />
      <CheckField
        name="caches_prompts"
        label={models.cachesPrompts}
        help={models.cachesPromptsHelp}
        defaultChecked={model?.caches_prompts ?? false}
      />
    </>
  );
}

/** Returns what the fields say. For a new model, empty numbers are left to its family. */
export function moreSettingsOf(values: FormValues, isNew: boolean): Partial<ModelSettings> {
  const count = (name: 'default_output_tokens' | 'unbounded_input_tokens') =>
    values[name] ? { [name]: Number(values[name]) } : isNew ? {} : { [name]: null };
  return {
    aliases: (values['aliases'] ?? '').split(/[\s,]+/).filter((alias) => alias !== ''),
    description: values['description'] ?? '',
    ...count('default_output_tokens'),
    ...count('unbounded_input_tokens'),
    reads_more_than_sent: values['reads_more_than_sent'] === 'on',
    caches_prompts: values['caches_prompts'] === 'on',
  };
}
