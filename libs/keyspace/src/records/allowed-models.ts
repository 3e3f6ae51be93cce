/** Returns true when a key's `allowed_models` allows the model, as admission reads it (lua/shared/globs.lua): comma-separated, `*` the only wildcard; '' and '*' allow every model. */
export function isModelAllowed(list: string, name: string): boolean {
  const patterns = list.split(',').map((pattern) => pattern.trim());
  if (list.trim() === '') return true;
  return patterns.some((pattern) => pattern !== '' && matches(pattern, name));
}

/** Each piece between stars is looked for once, to the right of the one before: no backtracking. */
function matches(pattern: string, name: string): boolean {
  const [first = '', ...rest] = pattern.split('*');
  const last = rest.pop();
  if (last === undefined) return pattern === name;
  if (!name.startsWith(first)) return false;
  let at = first.length;
  for (const piece of rest) {
    const found = name.indexOf(piece, at);
    if (found < 0) return false;
    at = found + piece.length;
  }
  return name.length - last.length >= at && name.endsWith(last);
}
