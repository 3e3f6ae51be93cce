/** What is typed between Ctrl K and the palette, which takes a moment to load the first time. Undefined while nobody waits for it. */
let typed: string | undefined;

export function keepEarlyKeys(): void {
  typed = '';
}

/** What was typed early; from now on keys go where they always go. */
export function takeEarlyKeys(): string {
  const text = typed ?? '';
  typed = undefined;
  return text;
}

/** True when the key was kept for the palette. */
export function isEarlyKey(event: KeyboardEvent): boolean {
  if (typed === undefined || event.ctrlKey || event.metaKey || event.altKey) return false;
  if (event.key === 'Backspace') typed = typed.slice(0, -1);
  if (event.key.length === 1) typed += event.key;
  return true;
}
