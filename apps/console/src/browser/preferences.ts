/** Holds what a browser remembers about how a person likes the console. Never anything secret. */
type Preference = 'theme' | 'language' | 'zone' | 'rows' | 'navigation';

export function recall(name: Preference): string | null {
  try {
    return localStorage.getItem(`tollgate.${name}`);
  } catch {
    return null;
  }
}

export function remember(name: Preference, value: string): void {
  try {
    localStorage.setItem(`tollgate.${name}`, value);
  } catch {
    // A browser that keeps nothing forgets this, too.
  }
}
