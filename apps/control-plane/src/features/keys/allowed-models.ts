/**
 * Returns whether a key's `allowed_models` names a model, for pages that show it. Admission decides by the same rule. An empty list and `*` allow
 * every model.
 */
export function isModelAllowed(allowedModels: string, model: string): boolean {
  return allowedModels === '' || allowedModels.split(',').some((glob) => matches(glob, model));
}

/** Matches a glob whose only wildcard is `*`. It searches the parts between stars from left to right, each at its first place, so its time stays linear. */
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
