/**
 * Serialises a JSON value to one text whatever the order of its keys: keys sorted by UTF-16 code units, no white space, numbers and strings as
 * ECMAScript writes them (RFC 8785). PostgreSQL's jsonb reorders keys, so a checksum over the original text would not survive a round trip.
 */
export function canonicalJson(value: unknown): string {
  if (typeof value === 'number' && !Number.isFinite(value))
    throw new TypeError('JSON has no such number');
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item)).join(',')}]`;
  if (typeof value === 'object' && value !== null) return `{${members(value).join(',')}}`;
  const text = JSON.stringify(value);
  if (text === undefined) throw new TypeError('not a JSON value');
  return text;
}

function members(value: object): string[] {
  return Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`);
}
