/** Returns whether a key's `allowed_models` names a model: admission decides by it, for pages that show it. Empty and `*` allow every model. */
export function isModelAllowed(allowedModels: string, model: string): boolean {
  return allowedModels === '' || allowedModels.split(',').some((glob) => matches(glob, model));
}

/** `*` is the only wildcard. The parts between stars are found from left to right, the first place each: no text makes this slow. */
function matches(glob: string, text: string): boolean {
  const [first = '', ...rest] = glob.split('*');
  const last = rest.pop();
  if (last === undefined) return glob === text;
  if (text.length < first.length + last.length) return false;
  if (!text.startsWith(first) || !text.endsWith(last)) return false;
  let at = first.length;
  const end = text.length - last.length;
  for (const part of rest) {
    const found = text.indexOf(part, at);
    if (found < 0 || found + part.length > end) return false;
    at = found + part.length;
  }
  return true;
}
