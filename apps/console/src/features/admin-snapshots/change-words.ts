import { CHARGED_CLASSES, weightOf } from '../../api/tables.ts';
import { formatDuration } from '../../ui/format.ts';
import { formatExact } from '../../ui/time/time.tsx';
import { useZone } from '../../ui/time/zone.tsx';
import { useSpeech } from '../../words/words.ts';

/** Weights and multipliers are published in millionths. */
const MILLION = 1_000_000;

interface ChangeWords {
  /** Returns the name of a changed field, or its path when there is no word for it. */
  nameOf: (path: string) => string;
  textOf: (path: string, value: unknown) => string;
}

/** Returns the words for a changed field and its value. */
export function useChangeWords(): ChangeWords {
  const { words, locale } = useSpeech();
  const { zone } = useZone();
  const { general, admin, tables } = words;
  const fields: Readonly<Record<string, string>> = {
    ...admin.findings.fields,
    ...Object.fromEntries(
      CHARGED_CLASSES.map(({ name }) => [
        weightOf(name),
        `${admin.findings.fields.weight}: ${tables.classes[name]}`,
      ]),
    ),
  };
  const at = (ms: number): string => formatExact(new Date(ms).toISOString(), { locale, zone });
  return {
    nameOf: (path) => {
      const name = fields[fieldOf(path)];
      return name === undefined ? path : name;
    },
    textOf: (path, value) => {
      if (value === undefined || value === null) return '–';
      if (typeof value === 'boolean') return value ? general.yes : general.no;
      const field = fieldOf(path);
      if (typeof value === 'number') {
        if (field.startsWith('weight_')) return String(value / MILLION);
        if (field.endsWith('_ms')) return formatDuration(value, locale);
        if (field === 'effective_at') return at(value);
        return value.toLocaleString(locale);
      }
      if (field === 'prices' && typeof value === 'object')
        return at(Number(Reflect.get(value, 'effective_at')));
      return typeof value === 'string' ? value : JSON.stringify(value);
    },
  };
}

/** Returns the field of a path: `prices[0].weight_input` -> `weight_input`, `prices[1]` -> `prices`. */
function fieldOf(path: string): string {
  return (path.split('.').at(-1) ?? path).replace(/\[\d+\]$/, '');
}
