/** Planted: a value without a type. */
export function lengthOf(value: any): number {
  return String(value).length;
}
