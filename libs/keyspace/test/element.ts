/** Returns the element at `index`, counted round and round; a case without it is a mistake of the test. */
export function element<T>(list: readonly T[], index: number): T {
  const found = list[index % list.length];
  if (found === undefined) throw new RangeError(`no element ${index}`);
  return found;
}
