/** This planted value has no type. */
export function lengthOf(value: any): number {
  return String(value).length;
}
