/** Holds what is typed between Ctrl K and the palette, which takes a moment to load the first time. It is undefined while no palette is waited for. */
let typed: string | undefined;

export function keepEarlyKeys(): void {
  typed = '';
}

export function earlyKeys(): string {
  return typed ?? '';
}

/** From now on keys go where they always go. */
export function endEarlyKeys(): void {
  typed = undefined;
}

/** Returns true when the key was kept for the palette. */
export function isEarlyKey(event: KeyboardEvent): boolean {
  if (typed === undefined || event.ctrlKey || event.metaKey || event.altKey) return false;
  if (event.key === 'Backspace') typed = typed.slice(0, -1);
  if (event.key.length === 1) typed += event.key;
  return true;
}
