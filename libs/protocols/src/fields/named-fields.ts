import type { DroppedField } from './found-field.ts';

const NAME_CHARS_MAX = 64;
const NAMES_CHARS_MAX = 1_024;

/**
 * Formats fields for a header: `extra_body.api_base, service_tier`. The caller chose the names: characters other than letters, digits, `_` and `-`
 * are percent-encoded, a long name is cut and ends in `*`, and `+12` at the end counts fields that are not named.
 */
export function namedFields(fields: readonly DroppedField[]): string {
  let names = '';
  for (const [at, { path }] of fields.entries()) {
    const name = path.map(safeName).join('.').slice(0, NAMES_CHARS_MAX);
    if (names.length + name.length > NAMES_CHARS_MAX) return `${names}, +${fields.length - at}`;
    names += names === '' ? name : `, ${name}`;
  }
  return names;
}

function safeName(name: string): string {
  const cut = name.slice(0, NAME_CHARS_MAX).toWellFormed();
  const encoded = cut.replaceAll(/[^\w-]+/g, encodeURIComponent);
  return name.length > NAME_CHARS_MAX ? `${encoded}*` : encoded;
}
