import { USUAL_SETTINGS, type CallSettings } from '../../api/playground.ts';
import { TextAreaField, TextField } from '../../ui/forms/field.tsx';
import { useWords } from '../../words/words.ts';

export interface SettingsProps {
  settings: CallSettings;
  onSettings: (settings: CallSettings) => void;
}

/** Is closed until it is wanted: most conversations need none of it. */
export function CallSettingsFields({ settings, onSettings }: SettingsProps) {
  const { playground } = useWords();
  const change = (patch: Partial<CallSettings>): void => onSettings({ ...settings, ...patch });
  return (
    <details className="rounded-md border border-line px-3 py-2">
      <summary className="cursor-pointer font-medium">{playground.settings}</summary>
      <div className="flex flex-col gap-3 pt-3">
        <TextAreaField
          name="system"
          label={playground.system}
          rows={3}
          value={settings.system}
          onChange={({ target }) => change({ system: target.value })}
        />
        <div className="grid gap-3 sm:grid-cols-2">
          <NumberFields onChange={change} />
        </div>
      </div>
    </details>
  );
}

function NumberFields({ onChange }: { onChange: (patch: Partial<CallSettings>) => void }) {
  const { playground } = useWords();
  const { outputTokens: usual } = USUAL_SETTINGS;
  return (
    <>
      <TextField
        name="temperature"
        label={playground.temperature}
        help={playground.temperatureHelp}
        type="number"
        min={0}
        max={2}
        step={0.1}
        onChange={({ target }) => onChange({ temperature: numberIn(target) })}
      />
      <TextField
        name="output_tokens"
        label={playground.outputTokens}
        help={playground.outputTokensHelp(usual)}
        type="number"
        min={1}
        step={1}
        defaultValue={usual}
        onChange={({ target }) => onChange({ outputTokens: numberIn(target) ?? usual })}
      />
    </>
  );
}

/** An empty field has no number. */
function numberIn({ valueAsNumber: number }: HTMLInputElement): number | undefined {
  return Number.isNaN(number) ? undefined : number;
}
