/** Returns a formatted count with its noun, for English: "1 account", "2 accounts". */
export function countOf(count: string, one: string, many = `${one}s`): string {
  return `${count} ${count === '1' ? one : many}`;
}
