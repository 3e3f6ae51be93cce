/**
 * Returns the names of fields that a fault at this path may belong to, the likeliest first: the field of the whole path, of a value around it, or a field that
 * the form has by itself and sends within an object (`price.weight_input`).
 */
export function namesOf(path: string): string[] {
  const parts = path.split('.');
  const around = parts.map((_, count) => parts.slice(0, parts.length - count));
  const inObject = parts.slice(1);
  return [...around, ...(inObject.length > 0 ? [inObject] : [])].map((name) => name.join('.'));
}
