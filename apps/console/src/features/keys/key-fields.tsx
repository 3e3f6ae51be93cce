import type { Key, KeySettings } from '../../api/keys.ts';
import { KEY_LIMITS, limitValues } from '../../api/tables.ts';
import { readRateText, toRateText } from './rate-text.ts';
import { CheckField, TextField } from '../../ui/forms/field.tsx';
import type { FormValues } from '../../ui/forms/form.tsx';
import { useWords } from '../../words/words.ts';
import { ModelChoice } from './model-choice.tsx';

/** Draws the settings of a key, for a new one and for an existing one. */
export function KeyFields({ of: key }: { of?: Key | undefined }) {
  const { keys } = useWords();
  return (
    <>
      <TextField
        name="name"
        label={keys.name}
        help={keys.nameHelp}
        defaultValue={key?.name}
        required
        maxLength={100}
        autoComplete="off"
      />
      <ModelChoice userId={key?.user_id} first={key?.allowed_models ?? ''} />
      <details open={key !== undefined} className="group">
        <summary className="cursor-pointer rounded-sm font-medium text-text-2">{keys.more}</summary>
        <div className="flex flex-col gap-4 pt-4">
          <LimitFields of={key} />
          <RateFields of={key} />
          <TextField
            name="expires_at"
            label={keys.expires}
            help={keys.expiresHelp}
            type="datetime-local"
            defaultValue={toInput(key?.expires_at)}
          />
          <TextField
            name="ip_allowlist"
            label={keys.addresses}
            help={keys.addressesHelp}
            defaultValue={key?.ip_allowlist}
            autoComplete="off"
          />
        </div>
      </details>
    </>
  );
}

function LimitFields({ of: key }: { of: Key | undefined }) {
  const { keys, tables } = useWords();
  return (
    <div>
      <div className="grid grid-cols-3 gap-3 max-sm:grid-cols-1">
        {KEY_LIMITS.map(({ name }) => (
          <TextField
            key={name}
            name={name}
            label={tables.limits[name].name}
            inputMode="numeric"
            pattern="[0-9]*"
            defaultValue={String(key?.[name] ?? 0)}
          />
        ))}
      </div>
      <p className="mt-1 text-table text-text-3">{keys.limitHelp}</p>
    </div>
  );
}

function RateFields({ of: key }: { of: Key | undefined }) {
  const { keys } = useWords();
  return (
    <>
      <TextField
        name="rates"
        label={keys.rates}
        help={keys.ratesHelp}
        defaultValue={toRateText(key?.rates ?? [])}
        autoComplete="off"
      />
      <CheckField
        name="counts_cache_reads"
        label={keys.countsCacheReads}
        defaultChecked={key?.counts_cache_reads ?? true}
      />
    </>
  );
}

export function settingsOf(values: FormValues, was?: Key): KeySettings {
  return {
    name: values.name ?? '',
    allowed_models: values.allowed_models ?? '',
    ...limitValues((name) => Number(values[name] ?? 0)),
    rates: readRateText(values.rates ?? '', was?.rates),
    counts_cache_reads: values.counts_cache_reads !== undefined,
    expires_at: values.expires_at ? new Date(values.expires_at).toISOString() : null,
    ip_allowlist: values.ip_allowlist ?? '',
  };
}

function toInput(at: string | null | undefined): string {
  if (at === null || at === undefined) return '';
  const time = new Date(at);
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
