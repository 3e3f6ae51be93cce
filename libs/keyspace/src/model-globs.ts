/** Whether a key's `allowed_models` lets it call a model. The twin of lua/shared/globs.lua, for where no admission is asked (model lists, validation). */
export function isModelAllowed(allowedModels: string, modelName: string): boolean {
  const globs = allowedModels.split(',').map(trimSpaces);
  if (globs.length === 1 && globs[0] === '') return true;
  return globs.some((glob) => glob !== '' && matchesGlob(glob, modelName));
}

/** `*` stands for any run of characters. Each piece is looked for once, to the right of the one before: linear, unlike a regular expression. */
function matchesGlob(glob: string, name: string): boolean {
  const [head = '', ...pieces] = glob.split('*');
  const tail = pieces.pop();
  if (tail === undefined) return glob === name;
  if (!name.startsWith(head)) return false;
  let at = head.length;
  for (const piece of pieces) {
    const found = name.indexOf(piece, at);
    if (found === -1) return false;
    at = found + piece.length;
  }
  return name.length - tail.length >= at && name.endsWith(tail);
}

/** Without a regular expression: ` +$` is quadratic on long runs of spaces. */
function trimSpaces(text: string): string {
  let first = 0;
  let last = text.length;
  while (first < last && text[first] === ' ') first += 1;
  while (last > first && text[last - 1] === ' ') last -= 1;
  return text.slice(first, last);
}
