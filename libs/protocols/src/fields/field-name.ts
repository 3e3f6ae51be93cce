/** Joins `input`, `0`, `id` to `input[0].id`. */
export function fieldName(path: readonly string[]): string {
  return path.join('.').replace(/\.(\d+)/g, '[$1]');
}
