import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { subscriptionsQuery } from '../../api/models.ts';
import { useMe } from '../../api/session.ts';
import { TextField } from '../../ui/forms/field.tsx';
import { useWords } from '../../words/words.ts';

/** Lists subscribed models to tick; a key with wildcards keeps them, as text. */
export function ModelChoice({ userId, first }: { userId: number | undefined; first: string }) {
  const { keys } = useWords();
  const me = useMe();
  const { data: subscriptions } = useQuery(subscriptionsQuery(userId ?? me.id));
  const names = (subscriptions ?? []).map(({ model }) => model);
  const [chosen, setChosen] = useState(() =>
    first
      .split(',')
      .map((name) => name.trim())
      .filter((name) => name !== '' && name !== '*'),
  );
  const isPattern = chosen.some((name) => !names.includes(name));
  if (subscriptions !== undefined && (isPattern || names.length === 0))
    return (
      <TextField
        name="allowed_models"
        label={keys.patterns}
        help={keys.patternsHelp}
        defaultValue={first}
        autoComplete="off"
      />
    );
  const toggle = (name: string): void =>
    setChosen((old) =>
      old.includes(name) ? old.filter((other) => other !== name) : [...old, name],
    );
  return (
    <fieldset className="flex flex-col gap-1.5">
      <legend className="mb-1 font-medium">{keys.models}</legend>
      <input type="hidden" name="allowed_models" value={chosen.join(',')} />
      <ModelTicks names={names} chosen={chosen} onToggle={toggle} />
      <p className="text-table text-text-3">{keys.modelsHelp}</p>
    </fieldset>
  );
}

interface ModelTicksProps {
  names: readonly string[];
  chosen: readonly string[];
  onToggle: (name: string) => void;
}

function ModelTicks({ names, chosen, onToggle }: ModelTicksProps) {
  return (
    <div className="flex max-h-40 flex-col gap-1.5 overflow-y-auto">
      {names.map((name) => (
        <label key={name} className="flex items-center gap-2">
          <input
            type="checkbox"
            data-draft={`model ${name}`}
            checked={chosen.includes(name)}
            onChange={() => onToggle(name)}
            className="size-4 accent-accent"
          />
          <code className="foreign">{name}</code>
        </label>
      ))}
    </div>
  );
}
