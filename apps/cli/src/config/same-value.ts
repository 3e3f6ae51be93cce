/** Returns whether the API reads the stated and the current value as the same. */
export function isSameValue(stated: unknown, current: unknown): boolean {
  return canonical(stated) === canonical(current ?? null);
}

/** Lists of texts are sets in this API: aliases, endpoints, conditions. */
function canonical(value: unknown): string {
  return JSON.stringify(sorted(value ?? null));
}

function sorted(value: unknown): unknown {
  if (typeof value === 'string') return value.trim();
  if (Array.isArray(value)) {
    const isSet = value.every((member) => typeof member === 'string');
    return isSet ? value.toSorted() : value.map(sorted);
  }
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, member]) => [name, sorted(member)]),
  );
}

/** Lists the fields of a price that are not amounts. */
const COUNTS: ReadonlySet<string> = new Set(['above_prompt_tokens']);

/** Returns amounts as the API writes them: `2.50` and 2.5 become `2.5`. */
export function withPlainAmounts(value: unknown): unknown {
  if (typeof value === 'number') return String(value);
  if (typeof value === 'string')
    return /^\d+\.\d+$/.test(value) ? value.replace(/\.?0+$/, '') : value;
  if (Array.isArray(value)) return value.map(withPlainAmounts);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      COUNTS.has(name) ? member : withPlainAmounts(member),
    ]),
  );
}
